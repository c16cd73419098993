/**
 * The words of an ingress class by which its controller is known: `nginx-internal` is a class of
 * nginx.
 */
export function classWords(className: string | undefined): readonly string[] {
  return className?.split(/[-.]/) ?? [];
}

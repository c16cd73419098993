/**
 * The path of a scrape through the API server.
 * @param service as in `services/proxy`: `name:port`, or `https:name:port`
 */
export function metricsPath(namespace: string, service: string): string {
  return `/api/v1/namespaces/${namespace}/services/${service}/proxy/metrics`;
}

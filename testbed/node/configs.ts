import { stringify } from 'yaml';

import type { NodeNetwork } from './network.js';

/** Name of the node's Node object. */
export const NODE_NAME = 'node-1';
export const PAUSE_IMAGE = 'registry.k8s.io/pause:3.10';

/** Where the node's programs keep what they write, all below one folder. */
export interface Paths {
  readonly folder: string;
  readonly socket: string;
  readonly containerd: string;
  readonly cni: string;
  /** Of network plugins. */
  readonly plugins: string;
  readonly kubelet: string;
  readonly podLogs: string;
  readonly volumes: string;
}

export function pathsIn(folder: string): Paths {
  return {
    folder,
    socket: `${folder}/run/containerd.sock`,
    containerd: `${folder}/containerd`,
    cni: `${folder}/cni`,
    plugins: `${folder}/plugins`,
    kubelet: `${folder}/kubelet`,
    podLogs: `${folder}/pod-logs`,
    volumes: `${folder}/volumes`,
  };
}

export function containerdConfig({ folder, containerd, cni, plugins, socket }: Paths): string {
  return `version = 2
root = "${containerd}"
state = "${folder}/run/containerd"
disabled_plugins = ["io.containerd.snapshotter.v1.btrfs", "io.containerd.snapshotter.v1.devmapper", "io.containerd.snapshotter.v1.zfs", "io.containerd.snapshotter.v1.aufs"]
[grpc]
  address = "${socket}"
[plugins."io.containerd.internal.v1.opt"]
  path = "${folder}/opt"
[plugins."io.containerd.grpc.v1.cri"]
  sandbox_image = "${PAUSE_IMAGE}"
  netns_mounts_under_state_dir = true
  # A machine of a sandbox may lack CAP_SYS_RESOURCE, and with cgroup v1 the hugetlb controller.
  restrict_oom_score_adj = true
  disable_hugetlb_controller = true
  tolerate_missing_hugetlb_controller = true
  [plugins."io.containerd.grpc.v1.cri".cni]
    bin_dir = "${plugins}"
    conf_dir = "${cni}"
  [plugins."io.containerd.grpc.v1.cri".containerd]
    snapshotter = "overlayfs"
    default_runtime_name = "runc"
    [plugins."io.containerd.grpc.v1.cri".containerd.runtimes.runc]
      runtime_type = "io.containerd.runc.v2"
`;
}

export interface KubeletFiles {
  /** Paths of PEM files. */
  readonly certificate: string;
  readonly key: string;
  readonly clientAuthority: string;
}

export function kubeletConfig(network: NodeNetwork, paths: Paths, files: KubeletFiles): string {
  return stringify({
    apiVersion: 'kubelet.config.k8s.io/v1beta1',
    kind: 'KubeletConfiguration',
    address: network.nodeAddress,
    containerRuntimeEndpoint: `unix://${paths.socket}`,
    tlsCertFile: files.certificate,
    tlsPrivateKeyFile: files.key,
    authentication: {
      anonymous: { enabled: false },
      webhook: { enabled: false },
      x509: { clientCAFile: files.clientAuthority },
    },
    authorization: { mode: 'AlwaysAllow' },
    clusterDNS: [network.dnsAddress],
    clusterDomain: 'cluster.local',
    resolvConf: '',
    podLogsDir: paths.podLogs,
    volumePluginDir: `${paths.kubelet}/plugins-flex`,
    // No groups of classes of pods: their limits need rights that may be missing.
    cgroupDriver: 'cgroupfs',
    // From 1.35 on, the kubelet refuses cgroup v1 by default.
    failCgroupV1: false,
    cgroupsPerQOS: false,
    enforceNodeAllocatable: [],
    failSwapOn: false,
    maxPods: 250,
    // The machine is not the node's alone: a full disk is for whoever fills it to notice.
    evictionHard: {
      'memory.available': '100Mi',
      'nodefs.available': '1%',
      'imagefs.available': '1%',
    },
    // Images cannot be pulled again, so none is removed.
    imageGCHighThresholdPercent: 100,
    imageGCLowThresholdPercent: 99,
    serializeImagePulls: false,
    kubeAPIQPS: 200,
    kubeAPIBurst: 400,
    eventRecordQPS: 0,
  });
}

export function proxyConfig({ podRange }: NodeNetwork, kubeconfig: string): string {
  return stringify({
    apiVersion: 'kubeproxy.config.k8s.io/v1alpha1',
    kind: 'KubeProxyConfiguration',
    // One transaction a change. The mode `iptables` uses two for a Service that gets endpoints
    // again. Packets between them lose their connection, and for two minutes new connections from
    // the same ports are not answered either.
    mode: 'nftables',
    // A terminating pod serves for five more seconds. The defaults are one second to batch changes,
    // and thirty to retry.
    nftables: { minSyncPeriod: '100ms', syncPeriod: '2s' },
    clusterCIDR: podRange,
    clientConnection: { kubeconfig },
    hostnameOverride: NODE_NAME,
    // The limits of the machine's connection tracking are not ours to set.
    conntrack: { maxPerCore: 0 },
  });
}

/** DNS of the cluster, and of nothing else: names outside do not exist. */
export function dnsConfig({ nodeAddress }: NodeNetwork, kubeconfig: string): string {
  return `.:53 {
  bind ${nodeAddress}
  errors
  health ${nodeAddress}:8053
  cache 5
  kubernetes cluster.local in-addr.arpa {
    kubeconfig ${kubeconfig}
    pods insecure
    ttl 5
  }
  template ANY ANY {
    rcode NXDOMAIN
  }
}
`;
}

/** The cluster's DNS as pods know it: a Service for a server beside the kubelet. */
export function dnsObjects({ dnsAddress, nodeAddress }: NodeNetwork) {
  const ports = [
    { name: 'dns', port: 53, protocol: 'UDP' },
    { name: 'dns-tcp', port: 53, protocol: 'TCP' },
  ];
  const metadata = { name: 'kube-dns', namespace: 'kube-system' };
  return {
    service: {
      apiVersion: 'v1',
      kind: 'Service',
      metadata: { ...metadata, labels: { 'k8s-app': 'kube-dns' } },
      spec: { clusterIP: dnsAddress, ports },
    },
    endpoints: {
      apiVersion: 'discovery.k8s.io/v1',
      kind: 'EndpointSlice',
      metadata: { ...metadata, labels: { 'kubernetes.io/service-name': 'kube-dns' } },
      addressType: 'IPv4',
      ports,
      endpoints: [{ addresses: [nodeAddress], conditions: { ready: true } }],
    },
  };
}

import type { Versions } from './versions.js';

/** A program of an official release. */
export interface Release {
  readonly url: string;
  readonly sha256: string;
  /** Path of the program in the archive. Default: the file is the program. */
  readonly member?: string;
}

type Platform = 'linux-x64' | 'linux-arm64';

const ARCHITECTURE: Readonly<Record<Platform, string>> = {
  'linux-x64': 'amd64',
  'linux-arm64': 'arm64',
};

type Sums = Readonly<Record<Platform, string>>;

/**
 * SHA-256 sums of release files. ADR 0020 says where each was read. A version or platform without
 * sums is built from source.
 */
const KUBERNETES: Readonly<Record<string, Readonly<Record<string, Sums>>>> = {
  'v1.35.4': {
    'kube-apiserver': {
      'linux-x64': 'd5fff07e41f6826963254685667cfb3ec354dd676aa697e75c1e973e86d28fc7',
      'linux-arm64': 'ef055372df04d541c84ab8cb6dabfa67c3f5f35e6cbe7642673f94e1ca560cf3',
    },
    'kube-controller-manager': {
      'linux-x64': 'be0dc23daaf568c51017ea867707bd38ab36a78a83982bc12af9184e8e370c2c',
      'linux-arm64': '0ba5bc092a1fe68987f2b4ae072146962ed31b73819c1552153894eff67968c0',
    },
    'kube-scheduler': {
      'linux-x64': 'c796c9e54fc56745b9f50d2aa464d97d10007adc7cf0ba36a9cbf450a6f11770',
      'linux-arm64': 'ad75d09987d28f69d12959b880074ae3d2fedcf7491f5d41d6f23456d822333c',
    },
    'kube-proxy': {
      'linux-x64': 'db3001aa69c853e5a1a5d51c15eff112e6342a0fea9c99d7e272b6e47268c0a3',
      'linux-arm64': '769bf09cc106c03beb7f10bf96b29ef26a9316e2a43f45b8265c7fb9b8c1d61a',
    },
    kubelet: {
      'linux-x64': '983a6ba5a49823dcdd745c674e5e2416377dd27d6ad1b42d2befa0fb961a19f6',
      'linux-arm64': 'd710eef03bb4ad164bb77af9be5b11b44f874e2fc08153c7d383420d685f73e8',
    },
  },
  'v1.36.3': {
    'kube-apiserver': {
      'linux-x64': '1f217d397234a6d065da663c6e086fdb02c0f0de97a0758ff3e6f3956f4ef8ab',
      'linux-arm64': '16001b9d35d23634c361a1e2b7b0fc7abe186984af697ef7a869c8c8cded78b7',
    },
    'kube-controller-manager': {
      'linux-x64': '7edfe976d5a06c7a702d653e914095f4a732a04bb2139115b6a6eba6a9b781c7',
      'linux-arm64': '27868a5c822824945b93f2d8a724a5dcd99affc68b47230ae766bff8795bbb84',
    },
    'kube-scheduler': {
      'linux-x64': 'b8955d4518c902110b50a825364339b1fb673822518ce0ba081a69ed634f8eee',
      'linux-arm64': 'ca1c7cd0033942bf9ef7eac80e18375d91f6f29487244c3e685f11163b01a88d',
    },
    kubectl: {
      'linux-x64': 'ebbd080e7c2e275093b55915722043257eb24004363e20acb3c4d71919f88336',
      'linux-arm64': '3d86f24401c41ae5a46ac50eef8865fe891d3647d324a0836f6c63757a126e62',
    },
    'kube-proxy': {
      'linux-x64': 'f1b5eb4462df9d98751264c6256628d90fdc72ba8e9a8025d1f75674f078f254',
      'linux-arm64': '5db204a2f79b26f676137052b45e391f6f8c93b85c85ef0a1f5d72647e3c7834',
    },
    kubelet: {
      'linux-x64': '46707a53209f826ad0f0d62371ac69cd00e78fd9a8176cf5f6f87f18f7f8b718',
      'linux-arm64': '57205a5daf5883873d87b4914e1e00bdd7707acd075714788cfb0fc1f60bc414',
    },
  },
};

const ETCD: Readonly<Record<string, Sums>> = {
  'v3.6.8': {
    'linux-x64': 'cf9cfe91a4856cb90eed9c99e6aee4b708db2c7888b88a6f116281f04b0ea693',
    'linux-arm64': '438f56a700d17ce761510a3e63e6fa5c1d587b2dd4d7a22c179c09a649366760',
  },
};

const KWOK: Readonly<Record<string, Sums>> = {
  'v0.8.0': {
    'linux-x64': 'f5a4385a2ae1b9dd7f8acae18e002a75c0ebba124ae9d7259aa8dadb50711f46',
    'linux-arm64': '628f7d277860f524a2a775c217adcc58828e7b59ab0933680315784f1b8b0e37',
  },
};

/** The official programs of some versions for a platform, by name. */
export function releasesOf(
  { kubernetes, etcd, kwok }: Versions,
  platform = `${process.platform}-${process.arch}`,
): Readonly<Record<string, Release>> {
  if (!isPlatform(platform)) return {};
  const architecture = ARCHITECTURE[platform];
  const releases = new Map<string, Release>();
  for (const [name, sums] of Object.entries(KUBERNETES[kubernetes] ?? {})) {
    const url = `https://dl.k8s.io/release/${kubernetes}/bin/linux/${architecture}/${name}`;
    releases.set(name, { url, sha256: sums[platform] });
  }
  const etcdSums = ETCD[etcd];
  if (etcdSums) {
    const folder = `etcd-${etcd}-linux-${architecture}`;
    releases.set('etcd', {
      url: `https://github.com/etcd-io/etcd/releases/download/${etcd}/${folder}.tar.gz`,
      sha256: etcdSums[platform],
      member: `${folder}/etcd`,
    });
  }
  const kwokSums = KWOK[kwok];
  if (kwokSums) {
    const file = `kwok-linux-${architecture}`;
    releases.set('kwok', {
      url: `https://github.com/kubernetes-sigs/kwok/releases/download/${kwok}/${file}`,
      sha256: kwokSums[platform],
    });
  }
  return Object.fromEntries(releases);
}

function isPlatform(platform: string): platform is Platform {
  return platform in ARCHITECTURE;
}

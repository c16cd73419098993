"""Writes the common site configuration with the queue prefix of a site's own workers.

Workers read `bench_id` from the common site configuration only. The workers' container mounts this
copy over the shared file.

Environment: BENCH_ID (the prefix), SOURCE (the shared file), TARGET (the copy).
"""

import json
import os


def main() -> None:
    with open(os.environ["SOURCE"], encoding="utf-8") as source:
        config = json.load(source)
    config["bench_id"] = os.environ["BENCH_ID"]
    target = os.environ["TARGET"]
    os.umask(0o027)
    with open(f"{target}.tmp", "w", encoding="utf-8") as copy:
        json.dump(config, copy, indent=1, sort_keys=True)
    os.replace(f"{target}.tmp", target)


if __name__ == "__main__":
    main()

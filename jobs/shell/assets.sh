#!/bin/sh
# Copies the assets of an image from before 2026-04-29 to a volume: they are in sites/assets, which the
# volume of the sites hides in all other containers. The links among them lead into the image.
#
#   BENCH_DIR   the bench in the image, without the volume of the sites
#   ASSETS_DIR  the directory to fill (default /assets)
set -u

# shellcheck source=/dev/null
. "${0%/*}/constants.sh"
# shellcheck source=/dev/null
. "${0%/*}/die.sh"
bench=${BENCH_DIR:-$OPERATOR_BENCH_DIR}
target=${ASSETS_DIR:-/assets}

for source in "$bench/assets" "$bench/sites/assets"; do
  [ -e "$source/assets.json" ] || continue
  cp -RP "$source/." "$target/" || die VolumeNotWritable "$target cannot be filled with the assets of the image"
  exit 0
done
die AssetsNotInImage "the image has no assets.json in assets or sites/assets; use another image"

#!/bin/bash
# TEST CODE: makes sites/assets the link to this image's assets, then runs the command.
set -e

rm -rf /home/frappe/frappe-bench/sites/assets
ln -s /home/frappe/frappe-bench/assets /home/frappe/frappe-bench/sites/assets
exec "$@"

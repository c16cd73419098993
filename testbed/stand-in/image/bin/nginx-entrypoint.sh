#!/bin/bash
# TEST CODE: serves the sites of the bench as the image's own nginx does; BACKEND and SOCKETIO are host:port.
set -e

cat > /tmp/nginx.conf <<CONFIG
daemon off;
pid /tmp/nginx.pid;
error_log stderr;
events {}
http {
  access_log off;
  client_max_body_size ${CLIENT_MAX_BODY_SIZE:-50m};
  client_body_temp_path /tmp/body;
  proxy_temp_path /tmp/proxy;
  fastcgi_temp_path /tmp/fastcgi;
  uwsgi_temp_path /tmp/uwsgi;
  scgi_temp_path /tmp/scgi;
  proxy_read_timeout ${PROXY_READ_TIMEOUT:-120};
  proxy_set_header Host \$host;
  proxy_set_header X-Frappe-Site-Name ${FRAPPE_SITE_NAME_HEADER:-\$host};
  proxy_set_header X-Use-X-Accel-Redirect True;
  server {
    listen 8080;
    root /home/frappe/frappe-bench/sites;
    location /assets { try_files \$uri =404; }
    location ~ ^/protected/(.*) { internal; try_files /${FRAPPE_SITE_NAME_HEADER:-\$host}/\$1 =404; }
    location /socket.io { proxy_pass http://${SOCKETIO}; }
    location / { try_files /${FRAPPE_SITE_NAME_HEADER:-\$host}/public\$uri @webserver; }
    location @webserver { proxy_pass http://${BACKEND}; }
  }
}
CONFIG
exec nginx -c /tmp/nginx.conf

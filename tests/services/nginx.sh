#!/bin/bash
# A real nginx (Debian) that keeps what is put below /docs/ as files, asks for a password below /private/, and refuses
# below /refused/ with 400 and below /busy/ with 503.
#   NGINX_PORT   where it listens on 127.0.0.1, default 18080
#   NGINX_DATA   where the files are kept, default DIR/data
. "$(dirname "${BASH_SOURCE[0]}")/lib.sh"
svc_init "nginx${NGINX_INSTANCE:+-$NGINX_INSTANCE}"
PORT=${NGINX_PORT:-18080}
SVC_DATA=${NGINX_DATA:-$SVC_DIR/data}
do_status() { svc_status "127.0.0.1:$PORT, files in $SVC_DATA"; }
do_start() {
  svc_apt nginx-light
  svc_free_port "$PORT"
  mkdir -p "$SVC_DATA/docs" "$SVC_DATA/private" "$SVC_DIR/tmp"
  # user: in, password: pass
  printf 'in:{PLAIN}pass\n' >"$SVC_DIR/users"
  cat >"$SVC_DIR/nginx.conf" <<CONF
$([ "$(id -u)" = 0 ] && echo "user root;")
daemon off;
pid $SVC_DIR/nginx.pid;
error_log stderr;
events { }
http {
  access_log $SVC_DIR/access.log;
  client_body_temp_path $SVC_DIR/tmp/body; proxy_temp_path $SVC_DIR/tmp/proxy; fastcgi_temp_path $SVC_DIR/tmp/fastcgi;
  uwsgi_temp_path $SVC_DIR/tmp/uwsgi; scgi_temp_path $SVC_DIR/tmp/scgi;
  server {
    listen 127.0.0.1:$PORT;
    root $SVC_DATA;
    location /docs/ { dav_methods PUT; create_full_put_path on; }
    location /private/ { auth_basic "private"; auth_basic_user_file $SVC_DIR/users; dav_methods PUT; create_full_put_path on; }
    location /refused/ { return 400; }
    location /busy/ { return 503; }
  }
}
CONF
  svc_spawn nginx -c "$SVC_DIR/nginx.conf" -p "$SVC_DIR"
  svc_wait 20 svc_tcp "$PORT"
}
svc_main "$@"

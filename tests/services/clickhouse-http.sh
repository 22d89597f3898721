#!/bin/bash
# The current ClickHouse engine (PyPI chdb-core 26.9) behind a small HTTP front of our own (clickhouse/front.py says what it covers).
#   CLICKHOUSE_HTTP_PORT (default 18133), CLICKHOUSE_HTTP_DATA
#   CLICKHOUSE_HTTP_ARGS  for example "--password secret" or "--delay 5"
. "$(dirname "${BASH_SOURCE[0]}")/lib.sh"
svc_init "clickhouse-http${CLICKHOUSE_HTTP_INSTANCE:+-$CLICKHOUSE_HTTP_INSTANCE}"
PORT=${CLICKHOUSE_HTTP_PORT:-18133}
SVC_DATA=${CLICKHOUSE_HTTP_DATA:-$SVC_DIR/data}
do_status() { svc_status "http://127.0.0.1:$PORT"; }
up() { curl -sf "http://127.0.0.1:$PORT/ping"; }
do_start() {
  svc_apt curl; svc_venv --no-deps chdb-core==26.9.0; svc_free_port "$PORT"; mkdir -p "$SVC_DATA"
  # shellcheck disable=SC2086
  svc_spawn "$SVC_DIR/venv/bin/python" "$SVC_HERE/clickhouse/front.py" --port "$PORT" --data "$SVC_DATA" ${CLICKHOUSE_HTTP_ARGS:-}
  svc_wait 60 up
}
svc_main "$@"

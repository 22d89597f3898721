#!/bin/bash
# A real ClickHouse server: Debian's package clickhouse-server, which is old (18.16). HTTP and native listeners, user default, no password,
# and a cluster "three" of 127.0.0.1, 127.0.0.2 and 127.0.0.3 with a shard each; start one server for each to make it whole.
#   CLICKHOUSE_HOST  where it listens, default 127.0.0.1
#   CLICKHOUSE_PORT  HTTP port, default 18123; the native protocol listens on the same + 1
#   CLICKHOUSE_DATA
# For a current engine (26.x) behind the same HTTP interface see clickhouse-http.sh.
. "$(dirname "${BASH_SOURCE[0]}")/lib.sh"
HOST=${CLICKHOUSE_HOST:-127.0.0.1}
PORT=${CLICKHOUSE_PORT:-18123}
svc_init "clickhouse${CLICKHOUSE_INSTANCE:+-$CLICKHOUSE_INSTANCE}"
SVC_DATA=${CLICKHOUSE_DATA:-$SVC_DIR/data}
do_status() { svc_status "http://$HOST:$PORT"; }
up() { [ "$(curl -s "http://$HOST:$PORT/?query=SELECT%201")" = 1 ]; }
shard() { echo "<shard><replica><host>$1</host><port>$((PORT + 1))</port></replica></shard>"; }
do_start() {
  svc_apt clickhouse-server curl; mkdir -p "$SVC_DATA/tmp"
  cat >"$SVC_DIR/config.xml" <<X
<?xml version="1.0"?>
<yandex>
  <logger><level>information</level><console>1</console></logger>
  <listen_host>$HOST</listen_host><http_port>$PORT</http_port><tcp_port>$((PORT + 1))</tcp_port>
  <path>$SVC_DATA/</path><tmp_path>$SVC_DATA/tmp/</tmp_path>
  <mark_cache_size>67108864</mark_cache_size><uncompressed_cache_size>0</uncompressed_cache_size><max_concurrent_queries>50</max_concurrent_queries>
  <users_config>users.xml</users_config><default_profile>default</default_profile><default_database>default</default_database>
  <remote_servers><three>$(shard 127.0.0.1)$(shard 127.0.0.2)$(shard 127.0.0.3)</three></remote_servers>
</yandex>
X
  cat >"$SVC_DIR/users.xml" <<X
<?xml version="1.0"?>
<yandex>
  <profiles><default><max_memory_usage>400000000</max_memory_usage></default></profiles>
  <users>
    <default><password></password><networks><ip>127.0.0.0/8</ip></networks><profile>default</profile><quota>default</quota></default>
    <writer><password>p&amp;#%: é</password><networks><ip>127.0.0.0/8</ip></networks><profile>default</profile><quota>default</quota></writer>
  </users>
  <quotas><default/></quotas>
</yandex>
X
  cd "$SVC_DIR"
  svc_spawn clickhouse-server --config-file="$SVC_DIR/config.xml"
  svc_wait 40 up
}
svc_main "$@"

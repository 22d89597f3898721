use crate::plugins::testing::{compiled, warnings};

fn config(options: &str) -> String {
    format!("output {{ clickhouse {{ {options} }} }}")
}

fn errors(options: &str) -> String {
    compiled(&config(options)).err().unwrap_or_default()
}

#[test]
fn options_that_are_wrong() {
    for (options, words) in [
        ("", "needs `table`"),
        ("table => ''", "`table` is empty"),
        ("table => '%{[a}'", "Invalid FieldReference"),
        ("table => 'tt' hosts => 'ftp://h'", "http:// or https://"),
        ("table => 'tt' hosts => 'http://u:p@h'", "use the options `user` and `password`"),
        ("table => 'tt' hosts => ['http://a', 'https://b']", "all of `hosts` speak http"),
        ("table => 'tt' hosts => 'aa' http_hosts => 'bb'", "old name of `hosts`"),
        ("table => 'tt' query_settings => { 'user' => 'x' }", "may not hold `user`"),
        ("table => 'tt' query_settings => { 'query' => 'x' }", "may not hold `query`"),
        ("table => 'tt' wait_for_async_insert => false", "at_most_once"),
        ("table => 'tt' headers => { 'X' => '%{a}' }", "%{…} is not replaced"),
        ("table => 'tt' fields => ['[a][b]']", "no field at the top"),
        ("table => 'tt' writers => 0", "at least 1"),
        ("table => 'tt' queue_capacity => 0", "at least 1"),
        ("table => 'tt' flush_jitter => -1", "a share"),
        ("table => 'tt' node_checks => { 'load' => 1 }", "is no check"),
        ("table => 'tt' retries => -2", "or -1"),
        ("table => 'tt' timeout => 0", "more than 0"),
        ("table => 'tt' compression => brotli", "expected one of"),
        ("table => 'tt' format => csv", "expected one of"),
        ("table => 'tt' password => \"a\nb\"", "control characters"),
        ("table => 'tt' ssl_certificate => '/dev/null' hosts => 'https://h'", "needs `ssl_key`"),
    ] {
        let errors = errors(options);
        assert!(errors.contains(words), "{options}: {errors}");
    }
}

#[test]
fn options_that_are_right() {
    for options in [
        "table => 'tt'",
        "table => 'tt' wait_for_async_insert => false async_insert => true delivery => at_most_once",
        "table => 't_%{a}' cluster => 'cc' node_checks => { 'disk_used_percent' => 80 } local_table => false",
        "table => 'tt' retries => -1 compression => zstd ordered => true flatten => '_' fields => ['a', '[b]']",
        "table => 'tt' flush_bytes => '100mb' max_buffered_bytes => '1gb' max_tables => 5 exclude_codes => [210]",
        "table => 'tt' node_checks => { } table_replace => { } rename => { } query_settings => { 'x' => true }",
    ] {
        assert_eq!(errors(options), "", "{options}");
    }
}

/// A configuration of the community's plugin.
#[test]
fn old_names_work_with_one_warning_each() {
    let old = "http_hosts => ['http://a:8123', 'http://b:8123'] table => 'tt' idle_flush_time => 5 request_tolerance => 5 \
               backoff_time => 3 pool_max => 50 automatic_retries => 3 save_on_failure => true save_dir => '/tmp' \
               flush_size => 50";
    assert_eq!(errors(old), "");
    let warnings = warnings(&config(old));
    for name in [
        "http_hosts",
        "idle_flush_time",
        "request_tolerance",
        "backoff_time",
        "pool_max",
        "automatic_retries",
        "save_on_failure",
        "save_dir",
    ] {
        assert_eq!(warnings.matches(&format!("`{name}`")).count(), 1, "{name}: {warnings}");
    }
}

#[test]
fn settings_that_lose_data_are_warned_of() {
    let options = "table => 'tt' query_settings => { 'input_format_allow_errors_num' => 10 }";
    assert!(warnings(&config(options)).contains("drops rows"));
}

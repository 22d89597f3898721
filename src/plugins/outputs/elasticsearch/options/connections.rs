//! Options on connections: limits, TLS, compression, and how often what is dead is tried.

use std::time::Duration;

use super::super::flavor::Flavor;
use crate::plugins::Options;
use crate::plugins::elasticsearch::connections;
use crate::plugins::elasticsearch::http::HttpOptions;
use crate::plugins::server_tls::Tls;

/// The reference's fixed limit for a new connection.
const CONNECT_TIMEOUT: Duration = Duration::from_secs(10);
/// The level of `http_compression` in `opensearch`.
const OPENSEARCH_LEVEL: u32 = 6;

/// Reads those of `elasticsearch`. `secure` says whether TLS is on.
pub(super) fn elasticsearch(options: &mut Options<'_>, secure: bool) -> Option<HttpOptions> {
    let http = common(options, Flavor::Elasticsearch);
    let tls = Tls::read(options, secure);
    let tls = if secure { Some(tls?) } else { None };
    Some(HttpOptions { tls, ..http? })
}

/// Those that both plugins have; without TLS.
pub(super) fn common(options: &mut Options<'_>, flavor: Flavor) -> Option<HttpOptions> {
    let custom = connections::headers(options);
    let proxy = connections::proxy(options);
    let timeout = options.seconds("timeout").doc("Longest silence of a server.").default(Duration::from_secs(60));
    let most = options.integer("pool_max").doc("Most requests at once.").default(1000);
    let per_host = options.integer("pool_max_per_route").doc("Most requests at once to one host.").default(100);
    let idle = options
        .integer("validate_after_inactivity")
        .doc("A connection that was idle for longer (milliseconds) is not used again; 0 for no limit.")
        .default(10_000);
    if most < 1 || per_host < 1 {
        options.invalid("pool_max", "`pool_max` and `pool_max_per_route` are at least 1");
    }
    let count = |n: i64| usize::try_from(n).unwrap_or(1).clamp(1, 100_000);
    Some(HttpOptions {
        agent: flavor.agent(),
        connect_timeout: CONNECT_TIMEOUT,
        timeout,
        connections: count(most),
        connections_per_host: count(per_host),
        idle: u64::try_from(idle).ok().filter(|ms| *ms > 0).map(Duration::from_millis),
        headers: custom,
        proxy: proxy?,
        tls: None,
    })
}

/// Level of gzip of `elasticsearch`; 0 for none.
pub(super) fn elastic_compression(options: &mut Options<'_>) -> u32 {
    let level = options.bare_integer("compression_level").doc("gzip level of requests, 0 (none) to 9.").default(1);
    if !(0..=9).contains(&level) {
        options.invalid("compression_level", format!("`compression_level` is a number from 0 to 9, got {level}"));
    }
    let switch = options
        .boolean("http_compression")
        .doc("Old switch: true is level 1, false level 0.")
        .deprecated("use `compression_level`")
        .optional();
    if switch.is_some() && options.is_set("compression_level") {
        options.invalid(
            "http_compression",
            "`http_compression` and `compression_level` were set: keep only \
             `compression_level`",
        );
    }
    match switch {
        Some(on) => u32::from(on),
        None => u32::try_from(level).unwrap_or(1).min(9),
    }
}

/// Level of gzip of `opensearch`; 0 for none.
pub(super) fn opensearch_compression(options: &mut Options<'_>) -> u32 {
    let on = options.boolean("http_compression").doc("Whether requests are compressed with gzip.").default(false);
    if on { OPENSEARCH_LEVEL } else { 0 }
}

/// Time between two looks at dead servers; first and longest wait before a retry.
pub(super) fn rhythm(options: &mut Options<'_>) -> (Duration, (Duration, Duration)) {
    let resurrect = options
        .seconds("resurrect_delay")
        .doc("Seconds between two looks at dead servers.")
        .default(Duration::from_secs(5));
    let first = options
        .seconds("retry_initial_interval")
        .doc("Seconds before the first retry; doubled each time.")
        .default(Duration::from_secs(2));
    let longest = options
        .seconds("retry_max_interval")
        .doc("Longest time between two retries, in seconds.")
        .default(Duration::from_secs(64));
    (resurrect.max(Duration::from_millis(100)), (first.min(longest), longest))
}

//! The settings of Elastic's commercial extensions: central monitoring, central management, database downloads.
//!
//! They are known so that a stock `logstash.yml` starts; only switching central management on is refused.

use super::kind::Kind::{self, Bool, List, Password, Text, Time, Words};
use super::table::Setting;

type Row = (&'static str, Kind, &'static str);

/// All rows; `new` and `without_meaning` are the table's constructors.
pub(super) fn rows(
    new: fn(&'static str, Kind, &'static str, &'static str) -> Setting,
    without_meaning: fn(Setting) -> Setting,
) -> impl Iterator<Item = Setting> {
    let ignored = MONITORING.iter().chain(GEOIP);
    let ignored = ignored.map(move |(name, kind, default)| without_meaning(new(name, *kind, default, "Elastic's own")));
    ignored.chain(MANAGEMENT.iter().map(move |(name, kind, default)| new(name, *kind, default, "central management")))
}

const VERIFICATION: Kind = Words(&["none", "certificate", "full"]);

#[rustfmt::skip]
const MONITORING: &[Row] = &[
    ("xpack.monitoring.allow_legacy_collection", Bool, "false"),
    ("xpack.monitoring.enabled", Bool, "false"),
    ("xpack.monitoring.elasticsearch.hosts", List, ""),
    ("xpack.monitoring.elasticsearch.username", Text, "logstash_system"),
    ("xpack.monitoring.elasticsearch.password", Password, ""),
    ("xpack.monitoring.elasticsearch.proxy", Text, ""),
    ("xpack.monitoring.elasticsearch.cloud_id", Text, ""),
    ("xpack.monitoring.elasticsearch.cloud_auth", Password, ""),
    ("xpack.monitoring.elasticsearch.api_key", Password, ""),
    ("xpack.monitoring.elasticsearch.sniffing", Bool, "false"),
    ("xpack.monitoring.elasticsearch.ssl.certificate_authority", Text, ""),
    ("xpack.monitoring.elasticsearch.ssl.ca_trusted_fingerprint", Text, ""),
    ("xpack.monitoring.elasticsearch.ssl.truststore.path", Text, ""),
    ("xpack.monitoring.elasticsearch.ssl.truststore.password", Password, ""),
    ("xpack.monitoring.elasticsearch.ssl.keystore.path", Text, ""),
    ("xpack.monitoring.elasticsearch.ssl.keystore.password", Password, ""),
    ("xpack.monitoring.elasticsearch.ssl.verification_mode", VERIFICATION, ""),
    ("xpack.monitoring.elasticsearch.ssl.certificate", Text, ""),
    ("xpack.monitoring.elasticsearch.ssl.key", Text, ""),
    ("xpack.monitoring.elasticsearch.ssl.cipher_suites", List, ""),
    ("xpack.monitoring.collection.interval", Time, "10s"),
    ("xpack.monitoring.collection.timeout_interval", Time, "10m"),
    ("xpack.monitoring.collection.pipeline.details.enabled", Bool, "true"),
    ("xpack.monitoring.collection.config.enabled", Bool, "true"),
    ("monitoring.enabled", Bool, "false"),
    ("monitoring.elasticsearch.hosts", List, ""),
    ("monitoring.elasticsearch.username", Text, "logstash_system"),
    ("monitoring.elasticsearch.password", Password, ""),
    ("monitoring.elasticsearch.proxy", Text, ""),
    ("monitoring.elasticsearch.cloud_id", Text, ""),
    ("monitoring.elasticsearch.cloud_auth", Password, ""),
    ("monitoring.elasticsearch.api_key", Password, ""),
    ("monitoring.elasticsearch.sniffing", Bool, "false"),
    ("monitoring.elasticsearch.ssl.certificate_authority", Text, ""),
    ("monitoring.elasticsearch.ssl.ca_trusted_fingerprint", Text, ""),
    ("monitoring.elasticsearch.ssl.truststore.path", Text, ""),
    ("monitoring.elasticsearch.ssl.truststore.password", Password, ""),
    ("monitoring.elasticsearch.ssl.keystore.path", Text, ""),
    ("monitoring.elasticsearch.ssl.keystore.password", Password, ""),
    ("monitoring.elasticsearch.ssl.verification_mode", VERIFICATION, ""),
    ("monitoring.elasticsearch.ssl.certificate", Text, ""),
    ("monitoring.elasticsearch.ssl.key", Text, ""),
    ("monitoring.elasticsearch.ssl.cipher_suites", List, ""),
    ("monitoring.collection.interval", Time, "10s"),
    ("monitoring.collection.timeout_interval", Time, "10m"),
    ("monitoring.collection.pipeline.details.enabled", Bool, "true"),
    ("monitoring.collection.config.enabled", Bool, "true"),
];

#[rustfmt::skip]
const MANAGEMENT: &[Row] = &[
    ("xpack.management.enabled", Bool, "false"),
    ("xpack.management.logstash.poll_interval", Time, "5s"),
    ("xpack.management.pipeline.id", List, "main"),
    ("xpack.management.elasticsearch.hosts", List, "https://localhost:9200"),
    ("xpack.management.elasticsearch.username", Text, "logstash_system"),
    ("xpack.management.elasticsearch.password", Password, ""),
    ("xpack.management.elasticsearch.proxy", Text, ""),
    ("xpack.management.elasticsearch.cloud_id", Text, ""),
    ("xpack.management.elasticsearch.cloud_auth", Password, ""),
    ("xpack.management.elasticsearch.api_key", Password, ""),
    ("xpack.management.elasticsearch.sniffing", Bool, "false"),
    ("xpack.management.elasticsearch.ssl.certificate_authority", Text, ""),
    ("xpack.management.elasticsearch.ssl.ca_trusted_fingerprint", Text, ""),
    ("xpack.management.elasticsearch.ssl.truststore.path", Text, ""),
    ("xpack.management.elasticsearch.ssl.truststore.password", Password, ""),
    ("xpack.management.elasticsearch.ssl.keystore.path", Text, ""),
    ("xpack.management.elasticsearch.ssl.keystore.password", Password, ""),
    ("xpack.management.elasticsearch.ssl.verification_mode", VERIFICATION, ""),
    ("xpack.management.elasticsearch.ssl.certificate", Text, ""),
    ("xpack.management.elasticsearch.ssl.key", Text, ""),
    ("xpack.management.elasticsearch.ssl.cipher_suites", List, ""),
];

#[rustfmt::skip]
const GEOIP: &[Row] = &[
    ("xpack.geoip.downloader.enabled", Bool, "true"),
    ("xpack.geoip.downloader.endpoint", Text, ""),
    ("xpack.geoip.downloader.poll.interval", Time, "24h"),
];

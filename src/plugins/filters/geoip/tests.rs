//! Looking up in MaxMind's own test databases, in `tests/fixtures/geoip`.

use crate::plugins::testing::{compiled, filtered};

fn database(name: &str) -> String {
    format!(r#"database => "{}/tests/fixtures/geoip/{name}.mmdb""#, env!("CARGO_MANIFEST_DIR"))
}

fn geoip(options: &str, event: &str) -> String {
    filtered(&format!("filter {{ geoip {{ {options} }} }}"), &[event]).remove(0)
}

/// What a database has of an address, without ECS.
fn flat(name: &str, options: &str, ip: &str) -> String {
    let options = format!(
        r#"source => "ip" target => "g" ecs_compatibility => disabled remove_field => ["ip"] {} {options}"#,
        database(name)
    );
    geoip(&options, &format!(r#"{{"ip":"{ip}"}}"#))
}

#[test]
fn a_city_in_the_common_schema() {
    let options = format!(r#"source => "[client][ip]" add_tag => ["t"] {}"#, database("GeoLite2-City-Test"));
    assert_eq!(
        geoip(&options, r#"{"client":{"ip":"2001:480:10::1"}}"#),
        concat!(
            r#"{"client":{"ip":"2001:480:10:0:0:0:0:1","geo":{"city_name":"San Diego","continent_code":"NA","#,
            r#""country_name":"United States","country_iso_code":"US","postal_code":"92101","#,
            r#""region_name":"California","region_iso_code":"US-CA","timezone":"America/Los_Angeles","#,
            r#""location":{"lon":-117.1552,"lat":32.7203}},"mmdb":{"dma_code":825}},"tags":["t"]}"#
        )
    );
}

#[test]
fn a_city_without_the_common_schema() {
    assert_eq!(
        flat("GeoLite2-City-Test", "", "2001:480:10::1"),
        concat!(
            r#"{"g":{"city_name":"San Diego","continent_code":"NA","country_name":"United States","#,
            r#""country_code2":"US","country_code3":"US","ip":"2001:480:10:0:0:0:0:1","postal_code":"92101","#,
            r#""dma_code":825,"region_name":"California","region_code":"CA","timezone":"America/Los_Angeles","#,
            r#""location":{"lon":-117.1552,"lat":32.7203},"latitude":32.7203,"longitude":-117.1552}}"#
        )
    );
}

#[test]
fn other_kinds_of_databases() {
    for (name, ip, expected) in [
        ("GeoLite2-ASN-Test", "1.128.0.1", r#""ip":"1.128.0.1","asn":1221,"as_org":"Telstra Pty Ltd""#),
        (
            "GeoIP2-Country-Test",
            "216.160.83.56",
            r#""ip":"216.160.83.56","country_code2":"US","country_name":"United States","continent_name":"North America""#,
        ),
        (
            "GeoIP2-ISP-Test",
            "1.128.0.1",
            r#""ip":"1.128.0.1","asn":1221,"as_org":"Telstra Pty Ltd","isp":"Telstra Internet","organization":"Telstra Internet""#,
        ),
        ("GeoIP2-Domain-Test", "1.2.0.1", r#""domain":"maxmind.com""#),
        (
            "GeoIP2-Anonymous-IP-Test",
            "1.124.213.1",
            r#""hosting_provider":false,"tor_exit_node":true,"anonymous_vpn":true,"anonymous":true,"public_proxy":false,"residential_proxy":false"#,
        ),
        (
            "GeoIP2-Enterprise-Test",
            "74.209.24.0",
            r#""ip":"74.209.24.0","country_code2":"US","country_name":"United States","continent_name":"North America","region_iso_code":"US-NY","region_name":"New York","city_name":"Chatham","location":{"lon":-73.5549,"lat":42.3478}"#,
        ),
    ] {
        assert_eq!(flat(name, "", ip), format!(r#"{{"g":{{{expected}}}}}"#), "{name}");
    }
}

#[test]
fn only_the_fields_that_are_named() {
    let fields = r#"fields => ["city_name", "NETWORK", "continent_name", "domain"]"#;
    let expected =
        r#"{"g":{"city_name":"San Diego","network":"2001:480:0:0:0:0:0:0/43","continent_name":"North America"}}"#;
    assert_eq!(flat("GeoLite2-City-Test", fields, "2001:480::"), expected);
    let expected = r#"{"g":{"ip":"1.128.0.1","network":"1.128.0.0/11"}}"#;
    assert_eq!(flat("GeoLite2-ASN-Test", r#"fields => ["ip", "network"]"#, "::ffff:1.128.0.1"), expected);
}

#[test]
fn what_is_not_found_is_tagged() {
    let options = format!(
        r#"source => "ip" target => "client" ecs_compatibility => disabled add_tag => ["t"] {}"#,
        database("GeoLite2-City-Test")
    );
    let tags = r#""tags":["_geoip_lookup_failure"]}"#;
    for ip in [r#""10.0.0.1""#, r#""host.example.org""#, "5", r#"["x"]"#, r#"{"a":1}"#] {
        let expected = format!(r#"{{"ip":{ip},"client":{{}},{tags}"#);
        assert_eq!(geoip(&options, &format!(r#"{{"ip":{ip}}}"#)), expected);
        let there = format!(r#"{{"ip":{ip},"client":{{"x":1}}"#);
        assert_eq!(geoip(&options, &format!("{there}}}")), format!("{there},{tags}"));
    }
    for ip in ["null", r#""""#, r#"" ""#, "[]"] {
        assert_eq!(geoip(&options, &format!(r#"{{"ip":{ip}}}"#)), format!(r#"{{"ip":{ip},{tags}"#));
    }
    assert_eq!(geoip(&options, "{}"), format!("{{{tags}"));
    assert_eq!(
        geoip(&options, r#"{"ip":"2001:480::1","client":5}"#),
        format!(r#"{{"ip":"2001:480::1","client":5,{tags}"#)
    );
}

#[test]
fn private_addresses_flood_the_failure_tag_unless_they_are_skipped() {
    let options =
        format!(r#"source => "ip" target => "client" skip_private => true {}"#, database("GeoLite2-City-Test"));
    for ip in
        ["10.0.0.1", "172.16.0.1", "192.168.1.1", "127.0.0.1", "169.254.0.1", "100.64.0.1", "::1", "fe80::1", "fd00::1"]
    {
        let event = format!(r#"{{"ip":"{ip}"}}"#);
        assert_eq!(geoip(&options, &event), event);
    }
    assert!(geoip(&options, r#"{"ip":"192.0.2.1"}"#).contains("_geoip_lookup_failure"));
}

#[test]
fn the_database_that_is_given_is_the_one_used() {
    // Two databases know different things of one address.
    assert!(flat("GeoLite2-ASN-Test", "", "1.128.0.1").contains("Telstra"));
    assert!(flat("GeoLite2-City-Test", "", "1.128.0.1").contains("_geoip_lookup_failure"));
}

#[test]
fn a_kind_that_is_not_known_finds_nothing() {
    let options = format!(r#"source => "ip" target => "client" {}"#, database("GeoIP2-Connection-Type-Test"));
    assert!(geoip(&options, r#"{"ip":"1.0.0.1"}"#).contains("_geoip_lookup_failure"));
}

#[test]
fn a_damaged_database_breaks_nothing() {
    let options = format!(r#"source => "ip" target => "client" {}"#, database("GeoIP2-City-Test-Broken-Double-Format"));
    assert!(geoip(&options, r#"{"ip":"2001:220::1"}"#).contains("_geoip_lookup_failure"));
    let text = tempfile::NamedTempFile::with_suffix(".mmdb").unwrap();
    std::fs::write(text.path(), "no database").unwrap();
    let config = format!(
        r#"filter {{ geoip {{ source => "ip" target => "client" database => "{}" }} }}"#,
        text.path().display()
    );
    assert!(compiled(&config).unwrap().plan.filters[0].filter.register().is_err());
}

#[test]
fn options_that_cannot_be() {
    for (options, word) in [
        (r#"source => "ip""#, "`target`"),
        (r#"source => "[client][address]""#, "`target`"),
        (r#"source => "[client][ip]" fields => ["CITY"]"#, "CITY_NAME"),
        (r#"source => "[client][ip]" database => "/nowhere.mmdb""#, "/nowhere.mmdb"),
        (r#"source => "[client][ip]" default_database_type => "Country""#, "City, ASN"),
    ] {
        let errors = compiled(&format!("filter {{ geoip {{ {options} }} }}")).err().unwrap_or_default();
        assert!(errors.contains(word), "{options}: {errors}");
    }
}

#[test]
fn without_a_database_every_event_is_tagged() {
    let event = r#"{"client":{"ip":"1.128.0.1"}}"#;
    let tagged = r#"{"client":{"ip":"1.128.0.1"},"tags":["_geoip_lookup_failure"]}"#;
    assert_eq!(geoip(r#"source => "[client][ip]" default_database_type => "ASN""#, event), tagged);
}

//! What a user sees of the filter; each bug report of Logstash's filter that applies has its test.

use crate::plugins::Ecs;
use crate::plugins::testing::{compiled, event, filtered, json, run_filters};
use crate::regexp::{Groups, TimeLimit};

use super::library::Library;
use super::pattern::compile;

fn grok(options: &str, event: &str) -> String {
    filtered(&format!("filter {{ grok {{ {options} }} }}"), &[event]).remove(0)
}

/// Each named group of a match that is not empty, as `name=text`.
fn captured(ecs: Ecs, pattern: &str, text: &str) -> Vec<String> {
    let regex = compile(pattern, &Library::bundled(ecs), false).unwrap();
    let mut groups = Groups::default();
    if !regex.captures_within(text, &mut groups, &mut TimeLimit::new(None)).unwrap() {
        return vec!["no match".to_owned()];
    }
    let names = regex.group_names().iter().enumerate();
    let texts = names.filter_map(|(at, name)| {
        let (name, range) = (name.as_deref()?, groups.get(at + 1)?);
        let field = name.split(':').nth(1).unwrap_or(name);
        (!range.is_empty()).then(|| format!("{field}={}", &text[range]))
    });
    texts.collect()
}

#[test]
fn every_bundled_pattern_compiles() {
    for ecs in [Ecs::Disabled, Ecs::V8] {
        let library = Library::bundled(ecs);
        for name in library.names() {
            let pattern = format!("%{{{name}}}");
            if let Err(error) = compile(&pattern, &library, false) {
                panic!("{pattern}: {error}");
            }
        }
    }
}

#[test]
fn bundled_patterns_read_their_logs() {
    let apache = r#"192.0.2.7 - mira [10/Oct/2024:13:55:36 -0700] "GET /a?b=1 HTTP/1.1" 200 2326 "-" "curl/8.9.1""#;
    let ecs = "[source][address]=192.0.2.7 [user][name]=mira timestamp=10/Oct/2024:13:55:36 -0700 \
        [http][request][method]=GET [url][original]=/a?b=1 [http][version]=1.1 [http][response][status_code]=200 \
        [http][response][body][bytes]=2326 [user_agent][original]=curl/8.9.1";
    let legacy = "clientip=192.0.2.7 ident=- auth=mira timestamp=10/Oct/2024:13:55:36 -0700 verb=GET request=/a?b=1 \
        httpversion=1.1 response=200 bytes=2326 referrer=\"-\" agent=\"curl/8.9.1\"";
    for (ecs, pattern, text, expected) in [
        (Ecs::V8, "COMBINEDAPACHELOG", apache, ecs),
        (Ecs::Disabled, "COMBINEDAPACHELOG", apache, legacy),
        (
            Ecs::V8,
            "SYSLOGLINE",
            "Oct  1 02:03:04 web-1 sshd[812]: Accepted key",
            "timestamp=Oct  1 02:03:04 [host][hostname]=web-1 [process][name]=sshd [process][pid]=812 message=Accepted key",
        ),
        (
            Ecs::Disabled,
            "SYSLOGPAMSESSION",
            "Oct  1 02:03:04 h su: pam_unix(su:session): session opened for user root by (uid=0)",
            "timestamp=Oct  1 02:03:04 logsource=h program=su message=pam_unix(su:session): session opened for user \
             root by (uid=0) pam_module=pam_unix pam_caller=su:session pam_session_state=opened username=root \
             pam_by=(uid=0)",
        ),
        (
            Ecs::V8,
            "HAPROXYHTTP",
            "Feb  6 12:14:14 lb haproxy[14389]: 192.0.2.1:33317 [06/Feb/2009:12:14:14.655] http-in static/srv1 \
             10/0/30/69/109 200 2750 - - ---- 1/1/1/1/0 0/0 {1wt.eu} {} \"GET /index.html HTTP/1.1\"",
            "timestamp=Feb  6 12:14:14 [host][hostname]=lb [process][name]=haproxy [process][pid]=14389 \
             [source][address]=192.0.2.1 [source][port]=33317 [haproxy][request_date]=06/Feb/2009:12:14:14.655 \
             [haproxy][frontend_name]=http-in [haproxy][backend_name]=static [haproxy][server_name]=srv1 \
             [haproxy][http][request][time_wait_ms]=10 [haproxy][total_waiting_time_ms]=0 \
             [haproxy][connection_wait_time_ms]=30 [haproxy][http][request][time_wait_without_data_ms]=69 \
             [haproxy][total_time_ms]=109 [http][response][status_code]=200 [source][bytes]=2750 \
             [haproxy][termination_state]=---- [haproxy][connections][active]=1 [haproxy][connections][frontend]=1 \
             [haproxy][connections][backend]=1 [haproxy][connections][server]=1 [haproxy][connections][retries]=0 \
             [haproxy][server_queue]=0 [haproxy][backend_queue]=0 \
             [haproxy][http][request][captured_headers]=1wt.eu [http][request][method]=GET \
             [url][original]=/index.html [url][path]=/index.html [http][version]=1.1",
        ),
        (
            Ecs::V8,
            "CISCOFW106023",
            "Deny tcp src outside:192.0.2.5/42 dst inside:198.51.100.9/80 by access-group \"acl\" [0x0, 0x1]",
            "[cisco][asa][outcome]=Deny [cisco][asa][network][transport]=tcp \
             [observer][ingress][interface][name]=outside [source][ip]=192.0.2.5 [source][port]=42 \
             [observer][egress][interface][name]=inside [destination][ip]=198.51.100.9 [destination][port]=80 \
             [cisco][asa][rule_name]=acl [@metadata][cisco][asa][hashcode1]=0x0 \
             [@metadata][cisco][asa][hashcode2]=0x1",
        ),
        (
            Ecs::V8,
            "NAGIOSLOGLINE",
            "[1427956600] SERVICE ALERT: web;http;CRITICAL;SOFT;2;refused",
            "timestamp=1427956600 [nagios][log][type]=SERVICE ALERT [host][hostname]=web [service][name]=http \
             [service][state]=CRITICAL [nagios][log][state_type]=SOFT [nagios][log][attempt]=2 message=refused",
        ),
        (Ecs::V8, "IPORHOST:h", "fe80::1%eth0", "h=fe80::1%eth0"),
        (Ecs::V8, "NUMBER:n", "a-3.5e", "n=-3.5"),
        (Ecs::V8, "QS:q", r#"x "a\"b" y"#, r#"q="a\"b""#),
        (Ecs::V8, "TIMESTAMP_ISO8601:t", "at 2024-02-03T10:11:12.123+01:00.", "t=2024-02-03T10:11:12.123+01:00"),
        (Ecs::Disabled, "RUUID:u", "0123456789abcdef0123456789abcdef", "u=0123456789abcdef0123456789abcdef"),
        (Ecs::V8, "EMAILADDRESS:e", "to mira@example.org now", "e=mira@example.org"),
    ] {
        let name = pattern.split(':').next().unwrap_or_default();
        assert_eq!(captured(ecs, &format!("%{{{pattern}}}"), text).join(" "), expected, "{name}");
    }
}

/// Lines of many kinds, for patterns that were not made for them too.
const LINES: &[&str] = &[
    r#"192.0.2.7 - mira [10/Oct/2024:13:55:36 -0700] "GET /a?b=1 HTTP/1.1" 200 2326 "-" "curl/8.9.1""#,
    "<34>1 2024-10-01T02:03:04.005Z host.example.org su 77 ID47 [a@1 b=\"c\"] it failed",
    "Oct  1 02:03:04 web-1 sshd[812]: Failed password for root from 2001:db8::ff00:42:8329 port 22",
    "fe80::1%eth0 ::ffff:192.0.2.128 1:2:3:4:5:6:7:8 00-0A-95-9D-68-16 00:0a:95:9d:68:16 000a.959d.6816",
    "-12.5 +3 .5 1. 0x1F 12e5 7.7.7 999.1.1.1 256.256.256.256",
    r#""a \"quoted\" text" 'it''s' `x` "" "open"#,
    "Mar 3 März Dezember 31/12/1999 1999-12-31 24:00:60 23:59:59.999 Mon Monday",
    "https://mira:secret@example.org:8443/a/b;c?d=e&f[]=g#h /var/log/x.log C:\\Temp\\a.txt mira@example.org",
    "ERROR Warning info [DEBUG] emerg com.example.Service$1.<init>(Service.java:12) urn:isbn:0451450523",
    "naïve é ñandú 日本 a.b-c_d ....",
    "Deny tcp src outside:192.0.2.5/42 dst inside:198.51.100.9/80 by access-group \"acl\" [0x0, 0x1]",
    "[1427956600] SERVICE ALERT: web;http;CRITICAL;SOFT;2;refused",
    "a\nOct 1 1:2:3\n\n192.0.2.1\n",
    "",
];

#[test]
fn bundled_patterns_match_as_fancy_regex_does() {
    for ecs in [Ecs::Disabled, Ecs::V8] {
        let library = Library::bundled(ecs);
        for name in library.names() {
            // These take the other engine minutes without optimisation.
            if name.starts_with("BACULA_LOG") || name.starts_with("NAGIOSLOG") {
                continue;
            }
            let regexp = super::expand::expand(&format!("%{{{name}}}"), &library, false).unwrap();
            crate::regexp::assert_matches_as_fancy_regex(&regexp, LINES);
        }
    }
}

#[test]
fn edge_locations_with_a_dash_are_read_with_ecs_only() {
    let pattern = "^%{CLOUDFRONT_EDGE_LOCATION:l}$";
    assert_eq!(captured(Ecs::V8, pattern, "LHR62-C3"), ["l=LHR62-C3"]);
    assert_eq!(captured(Ecs::V8, pattern, "LHR5"), ["l=LHR5"]);
    let line = |location: &str| {
        format!(
            "2014-05-23\t01:13:11\t{location}\t182\t192.0.2.10\tGET\td1.cloudfront.net\t/view\t200\twww.example.net\t\
             agent\ta=b\tzip=98101\tRefreshHit\tMRVMF7KydIvxMWfJIglgwHQwZsbG2IhRJ07sn9AkKUFSHS9EXAMPLE==\t\
             d1.cloudfront.net\thttp\t-\t0.001\t-\t-\t-\tRefreshHit"
        )
    };
    let first = |ecs, location: &str| captured(ecs, "^%{CLOUDFRONT_ACCESS_LOG}", &line(location)).len();
    assert!(first(Ecs::V8, "SEA4-C1") > 10);
    assert_eq!(first(Ecs::Disabled, "SEA4-C1"), 1);
}

#[test]
fn bind_queries_have_their_category() {
    let line = "17-Feb-2018 23:06:56.326 queries: info: client 192.0.2.10#53482 (www.example.org): query: \
        www.example.org IN A +E(0)K (198.51.100.1)";
    let found = captured(Ecs::V8, "%{BIND9}", line);
    assert!(found.contains(&"[bind][log][category]=queries".to_owned()), "{found:?}");
    assert!(found.contains(&"[dns][question][class]=IN".to_owned()), "{found:?}");
}

#[test]
fn the_last_pattern_decides_without_break_on_match() {
    let options = r#"match => { "m" => ["%{WORD:w}", "x%{INT:n}"] } break_on_match => false"#;
    assert_eq!(grok(options, r#"{"m":"abc"}"#), r#"{"m":"abc","w":"abc","tags":["_grokparsefailure"]}"#);
    assert_eq!(grok(options, r#"{"m":"x1"}"#), r#"{"m":"x1","w":"x1","n":"1"}"#);
}

#[test]
fn a_list_of_patterns_ends_with_the_first_match() {
    let options = r#"match => { "m" => ["%{WORD:a}", "%{WORD:b}"] }"#;
    assert_eq!(grok(options, r#"{"m":"x"}"#), r#"{"m":"x","a":"x"}"#);
}

#[test]
fn elements_of_a_list_are_matched_one_by_one() {
    let options = r#"match => { "m" => "^%{INT:n}$" } add_tag => "ok""#;
    assert_eq!(grok(options, r#"{"m":["1","x",3]}"#), r#"{"m":["1","x",3],"n":["1","3"],"tags":["ok"]}"#);
}

#[test]
fn several_patterns_make_one_field() {
    let options = r#"match => { "m" => "(?<both>%{WORD} %{INT})" }"#;
    assert_eq!(grok(options, r#"{"m":"a 1"}"#), r#"{"m":"a 1","both":"a 1"}"#);
}

#[test]
fn common_options_run_once_when_several_patterns_match() {
    let options = r#"match => { "m" => ["%{WORD:a}", "%{WORD:b}"] } break_on_match => false add_tag => "t""#;
    assert_eq!(grok(options, r#"{"m":"x"}"#), r#"{"m":"x","a":"x","b":"x","tags":["t"]}"#);
}

#[test]
fn matches_failures_and_patterns_are_counted() {
    let config = r#"filter { grok { match => { "m" => ["%{INT:n}", "x"] "a.b" => "y" } } }"#;
    let compiled = compiled(config).unwrap();
    run_filters(&compiled, ["1", "x", "q"].map(|m| event(&format!(r#"{{"m":"{m}"}}"#))).into());
    let slot = compiled.plan.filters.first().unwrap();
    let named: Vec<(String, u64)> =
        slot.info.metrics.named().into_iter().map(|(path, n)| (path.join("/"), n)).collect();
    let named: Vec<(&str, u64)> = named.iter().map(|(path, n)| (path.as_str(), *n)).collect();
    assert_eq!(
        named,
        [("failures", 1), ("matches", 2), ("patterns_per_field/a.b", 1), ("patterns_per_field/m", 2), ("timeouts", 0)]
    );
}

#[test]
fn own_patterns_beat_the_bundled_ones() {
    let directory = tempfile::tempdir().unwrap();
    std::fs::write(directory.path().join("a.pat"), "WORD [xyz]+\nOWN q%{INT:q:int}\n").unwrap();
    std::fs::write(directory.path().join("b.txt"), "WORD never\n").unwrap();
    let folder = directory.path().display();
    let options = format!(
        r#"patterns_dir => "{folder}" patterns_files_glob => "*.pat" pattern_definitions => {{ "INT" => "[7]+" }}
        match => {{ "m" => "%{{WORD:w}} %{{OWN}}" }}"#
    );
    assert_eq!(grok(&options, r#"{"m":"axy q771"}"#), r#"{"m":"axy q771","w":"xy","q":77}"#);
    assert_eq!(grok(r#"patterns_dir => "/no/such" match => { "m" => "a" }"#, r#"{"m":"a"}"#), r#"{"m":"a"}"#);
}

#[test]
fn a_name_seen_twice_is_coerced_once() {
    let options = r#"match => { "m" => "%{INT:n:int}(?: %{INT:n:int})?(?: %{INT:n:float})?" }"#;
    assert_eq!(grok(options, r#"{"m":"1 2 3"}"#), r#"{"m":"1 2 3","n":1}"#);
    let options = r#"match => { "m" => "(?:%{INT:n:int};|%{INT:n:int})" }"#;
    assert_eq!(grok(options, r#"{"m":"5"}"#), r#"{"m":"5","n":"5"}"#);
}

#[test]
fn empty_captures_are_kept_on_demand() {
    let options = r#"match => { "m" => "a(?<e>x*)(?<z>z)?" } keep_empty_captures => true"#;
    assert_eq!(grok(options, r#"{"m":"a","z":"old"}"#), r#"{"m":"a","z":["old",null],"e":""}"#);
}

#[test]
fn captures_go_below_the_target() {
    let options = r#"match => { "m" => "%{WORD:[a][b]}-%{INT:@x:int}" } target => "[t][u]""#;
    assert_eq!(grok(options, r#"{"m":"p-1"}"#), r#"{"m":"p-1","t":{"u":{"a":{"b":"p"},"@x":1}}}"#);
}

#[test]
fn overwrite_names_captures_as_they_are_written() {
    let options = r#"match => { "m" => "%{WORD:[a][b]} %{WORD:c}" } overwrite => ["a.b", "[c]", "[a][b]"]"#;
    assert_eq!(
        grok(options, r#"{"m":"x y","a":{"b":"old"},"c":"old"}"#),
        r#"{"m":"x y","a":{"b":"x"},"c":["old","y"]}"#
    );
}

#[test]
fn a_capture_that_does_not_fit_fails_the_field() {
    let options = r#"match => { "m" => "%{WORD:a} %{WORD:[s][x]} %{WORD:b}" } add_tag => "ok""#;
    assert_eq!(
        grok(options, r#"{"m":"p q r","s":"text"}"#),
        r#"{"m":"p q r","s":"text","a":"p","tags":["_grokparsefailure"]}"#
    );
    let options = r#"match => { "m" => "%{INT:tags:int}" }"#;
    assert_eq!(grok(options, r#"{"m":"1","tags":["t"]}"#), r#"{"m":"1","tags":["t","_grokparsefailure"]}"#);
    assert_eq!(grok(options, r#"{"m":"1","tags":"t"}"#), r#"{"m":"1","tags":["t","_grokparsefailure"]}"#);
}

#[test]
fn one_limit_for_all_patterns_or_one_for_each() {
    let slow = "^(?:a|aa)+$";
    let text = format!("{}!", "a".repeat(200));
    for scope in ["pattern", "event"] {
        let options = format!(
            r#"match => {{ "m" => ["{slow}", "%{{GREEDYDATA:all}}"] }} timeout_millis => 20 timeout_scope => "{scope}"
            tag_on_timeout => "late" add_tag => "ok""#
        );
        assert_eq!(grok(&options, &format!(r#"{{"m":"{text}"}}"#)), format!(r#"{{"m":"{text}","tags":["late"]}}"#));
    }
}

#[test]
fn an_empty_match_fails_every_event() {
    assert_eq!(grok("", r#"{"m":"a"}"#), r#"{"m":"a","tags":["_grokparsefailure"]}"#);
    assert_eq!(grok("tag_on_failure => []", r#"{"m":"a"}"#), r#"{"m":"a"}"#);
}

#[test]
fn values_that_are_no_text_are_matched_as_ruby_prints_them() {
    for (value, expected) in [("1.5", "1.5"), ("{\"a\":1}", r#"{"a" => 1}"#), ("true", "true"), ("1e20", "1.0e+20")] {
        let found = grok(r#"match => { "m" => "(?<x>.+)" } remove_field => "m""#, &format!(r#"{{"m":{value}}}"#));
        let expected = serde_json::json!({ "x": expected }).to_string();
        assert_eq!(found, expected);
    }
}

#[test]
fn captured_text_shares_the_memory_of_its_source() {
    let config = r#"filter { grok { match => { "m" => "%{WORD:a} %{GREEDYDATA:b}" } } }"#;
    let source = event(r#"{"m":"word and a tail that is longer than what fits inline"}"#);
    let start = source.fields().get("m").unwrap().as_str().unwrap().as_ptr() as usize;
    let done = run_filters(&compiled(config).unwrap(), vec![source]);
    let tail = done.first().unwrap().fields().get("b").unwrap().as_str().unwrap();
    assert_eq!(tail.as_ptr() as usize, start + 5);
}

#[test]
fn captures_go_into_maps_that_are_there_and_into_new_ones() {
    let options = r#"match => { "m" => "(?<[a][x]>.)(?<[b]>.)(?<[a][y][z]>.)?(?<[c][v]>.)?" } remove_field => "m""#;
    for (given, expected) in [
        (r#"{"m":"1234"}"#, r#"{"a":{"x":"1","y":{"z":"3"}},"b":"2","c":{"v":"4"}}"#),
        (r#"{"m":"12"}"#, r#"{"a":{"x":"1"},"b":"2"}"#),
        (r#"{"m":"123","b":"old"}"#, r#"{"b":["old","2"],"a":{"x":"1","y":{"z":"3"}}}"#),
        (r#"{"m":"123","a":{"x":"old","k":5}}"#, r#"{"a":{"x":["old","1"],"k":5,"y":{"z":"3"}},"b":"2"}"#),
        // At the first capture that the event does not take, the rest is left.
        (r#"{"m":"1234","a":{"y":7}}"#, r#"{"a":{"y":7,"x":"1"},"b":"2"}"#),
    ] {
        let found: serde_json::Value = serde_json::from_str(&grok(options, given)).unwrap();
        let expected: serde_json::Value = serde_json::from_str(expected).unwrap();
        assert_eq!(found.get("a"), expected.get("a"), "{given}");
        assert_eq!(found.get("b"), expected.get("b"), "{given}");
        assert_eq!(found.get("c"), expected.get("c"), "{given}");
    }
}

#[test]
fn mistakes_are_found_at_load() {
    for (options, parts) in [
        (r#"match => { "m" => "%{COMBINEDAPACHELGO}" }"#, vec!["pattern %{COMBINEDAPACHELGO} not defined"]),
        (r#"match => { "m" => "(a" }"#, vec!["grok", "unmatched parenthesis"]),
        (r#"match => { "m" => "(?<1a>x)" }"#, vec!["invalid group name"]),
        (r#"match => { "m" => "(?s)a" }"#, vec!["undefined group option"]),
        (r#"match => { "m" => "[\w-.]" }"#, vec!["unmatched range specifier in char-class"]),
        (r#"match => { "a[b" => "x" }"#, vec!["Invalid FieldReference"]),
        (r#"pattern_definitions => { "A" => "%{A}" } match => { "m" => "%{A}" }"#, vec!["Deep recursion pattern"]),
        (r#"timeout_scope => "line""#, vec!["pattern, event"]),
        (r#"singles => true"#, vec!["singles"]),
        (r#"timeout_millis => -1"#, vec!["negative"]),
    ] {
        let error = compiled(&format!("filter {{ grok {{ {options} }} }}")).map(|_| ()).unwrap_err();
        for part in parts {
            assert!(error.contains(part), "{options}: {error}");
        }
    }
}

#[test]
fn a_mistake_is_shown_where_it_stands() {
    use crate::config::{self, render::Renderer};
    use crate::pipeline::{Environment, compile};
    let text = "filter { grok { match => { \"m\" => [\"%{IP}\", \"%{INT:a} %{COMBINEDAPACHELGO} x\"] } } }";
    let mut loaded = config::parse(text);
    let environment = Environment::alone();
    compile(&loaded.config, &loaded.sources, &environment, &mut loaded.diagnostics);
    let shown = Renderer::new(&loaded.sources, false).render_all(&loaded.diagnostics);
    let place = text.find("%{COMB").unwrap();
    assert!(shown.contains(&format!("column {}: pattern %{{COMBINEDAPACHELGO}} not defined", place + 1)), "{shown}");
    assert!(shown.contains(&format!("{}{}\n", " ".repeat(place), "^".repeat(20))), "{shown}");
    assert!(shown.contains("did you mean `COMBINEDAPACHELOG`?"), "{shown}");
    assert!(shown.contains("[unknown-pattern]"), "{shown}");
}

#[test]
fn a_batch_is_worked_on_in_order() {
    let config = r#"filter { grok { match => { "m" => "(?<l>.)(?<r>.)?" } } }"#;
    let events = ["ab", "c", "de"].map(|m| event(&format!(r#"{{"m":"{m}"}}"#)));
    let done: Vec<String> = run_filters(&compiled(config).unwrap(), events.into()).iter().map(json).collect();
    assert_eq!(done, [r#"{"m":"ab","l":"a","r":"b"}"#, r#"{"m":"c","l":"c"}"#, r#"{"m":"de","l":"d","r":"e"}"#]);
}

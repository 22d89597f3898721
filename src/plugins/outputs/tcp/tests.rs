use tokio::io::AsyncReadExt;
use tokio::net::TcpListener;

use crate::plugins::testing::{compiled, deliver, warnings};

#[tokio::test]
async fn documents_follow_each_other_without_anything_between() {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let port = listener.local_addr().unwrap().port();
    let config =
        format!(r#"output {{ tcp {{ host => "127.0.0.1" port => {port} codec => plain {{ format => "%{{m}}" }} }} }}"#);
    let received = tokio::spawn(async move {
        let mut text = String::new();
        listener.accept().await.unwrap().0.read_to_string(&mut text).await.unwrap();
        text
    });
    assert!(deliver(&config, &[r#"{"m":"a"}"#, r#"{"m":"b"}"#]).await.is_empty());
    assert_eq!(received.await.unwrap(), "ab");
}

#[tokio::test]
async fn after_a_broken_connection_whole_events_are_sent_again() {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let port = listener.local_addr().unwrap().port();
    let config = format!(
        r#"output {{ tcp {{ host => "127.0.0.1" port => {port} reconnect_interval => 0.1 codec => json_lines }} }}"#
    );
    let received = tokio::spawn(async move {
        // The first connection is reset in the middle of an event.
        let (mut first, _) = listener.accept().await.unwrap();
        first.read_exact(&mut [0; 10]).await.unwrap();
        rustix::net::sockopt::set_socket_linger(&first, Some(std::time::Duration::ZERO)).unwrap();
        drop(first);
        let mut text = String::new();
        listener.accept().await.unwrap().0.read_to_string(&mut text).await.unwrap();
        text
    });
    // More than the system takes before it hears of the reset.
    let long = "x".repeat(8 * 1024 * 1024);
    let events = [format!(r#"{{"m":"{long}"}}"#), r#"{"m":"last"}"#.to_owned()];
    assert!(deliver(&config, &[&events[0], &events[1]]).await.is_empty());
    let text = received.await.unwrap();
    let lines: Vec<&str> = text.lines().collect();
    assert_eq!(lines.len(), 2);
    assert!(lines[0].starts_with('{') && lines[0].len() > long.len());
    assert!(lines[1].contains("last"));
}

#[test]
fn options_that_are_wrong() {
    for (options, words) in [
        ("port => 1 ssl_cacert => \"x\"", "`ssl_cacert` of the tcp output is obsolete"),
        ("port => 70000", "between 0 and 65535"),
        ("port => 1 mode => server ssl_enabled => true", "needs `ssl_certificate`"),
        ("port => 1 ssl_enabled => true ssl_client_authentication => none", "ssl_verification_mode"),
    ] {
        let config = format!("output {{ tcp {{ host => \"h\" {options} }} }}");
        let error = compiled(&config).err().unwrap();
        assert!(error.contains(words), "{options}: {error}");
    }
}

/// logstash-input-tcp#41
#[test]
fn json_that_the_tcp_input_cannot_read_is_warned_of() {
    for (codec, warned) in [
        ("", true),
        ("codec => json", true),
        ("codec => json { }", true),
        ("codec => json_lines", false),
        ("codec => line", false),
        ("codec => plain { format => \"%{m}\" }", false),
    ] {
        let warnings = warnings(&format!("output {{ tcp {{ host => \"h\" port => 1 {codec} }} }}"));
        assert_eq!(warnings.contains("codec => json_lines"), warned, "{codec}: {warnings}");
    }
}

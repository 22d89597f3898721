//! Encryption and login.

use crate::broker::{broker, text};
use crate::own_broker::Own;
use crate::program::Program;
use crate::records::{input, output};

/// Sends a record through the program, whose input and output both have these options.
fn passes(address: &str, options: &str) {
    let Some(broker) = broker() else { return };
    let (from, to) = (broker.topic("from", 1), broker.topic("to", 1));
    let config = input(address, &from, &broker.name("g"), options) + &output(address, &to, options);
    broker.send(&from, [text("x")]);
    let mut program = Program::start(&config);
    program.until("the record arrives", || broker.values(&to) == ["x"]);
}

fn given(variable: &str) -> Option<String> {
    let value = std::env::var(variable).ok();
    if value.is_none() {
        println!("skipped: {variable} is not set");
    }
    value
}

#[test]
fn a_password_opens_the_broker_by_plain_and_scram() {
    let Some(address) = given("SPILLWAY_KAFKA_SASL") else { return };
    for (mechanism, module) in [("PLAIN", "plain.PlainLoginModule"), ("SCRAM-SHA-512", "scram.ScramLoginModule")] {
        let jaas =
            format!("org.apache.kafka.common.security.{module} required username=\"alice\" password=\"secret\";");
        passes(
            &address,
            &format!(
                "security_protocol => SASL_PLAINTEXT sasl_mechanism => '{mechanism}' sasl_jaas_config => '{jaas}'"
            ),
        );
    }
    let file = tempfile::NamedTempFile::new().unwrap();
    std::fs::write(
        file.path(),
        "KafkaClient {\n  x.PlainLoginModule required\n  username=\"alice\"\n  password=\"secret\";\n};\n",
    )
    .unwrap();
    let path = file.path().display();
    passes(&address, &format!("security_protocol => SASL_PLAINTEXT sasl_mechanism => PLAIN jaas_path => '{path}'"));
}

#[test]
fn a_wrong_password_is_told_and_the_pipeline_waits() {
    let Some(address) = given("SPILLWAY_KAFKA_SASL") else { return };
    let jaas = "x.PlainLoginModule required username=\"alice\" password=\"hunter2\";";
    let options = format!("security_protocol => SASL_PLAINTEXT sasl_mechanism => PLAIN sasl_jaas_config => '{jaas}'");
    let mut program = Program::start(&(input(&address, "t", "g", &options) + "output { null { } }"));
    program.until_logged("Authentication failed");
    assert!(!program.has_ended() && !program.log().contains("hunter2"), "{}", program.log());
}

#[test]
fn a_client_certificate_opens_the_broker_as_pem_and_pkcs12() {
    let (Some(address), Some(folder)) = (given("SPILLWAY_KAFKA_TLS"), given("SPILLWAY_KAFKA_CERTIFICATES")) else {
        return;
    };
    let home = tempfile::tempdir().unwrap();
    let read = |name: &str| std::fs::read_to_string(format!("{folder}/{name}")).unwrap();
    let pem = home.path().join("client.pem");
    std::fs::write(&pem, read("client.key") + &read("client.crt")).unwrap();
    passes(
        &address,
        &format!(
            "security_protocol => SSL ssl_truststore_location => '{folder}/ca.crt' ssl_truststore_type => PEM \
         ssl_keystore_location => '{}' ssl_keystore_type => PEM",
            pem.display()
        ),
    );
    // That of the server will do for a client, too.
    passes(
        &address,
        &format!(
            "security_protocol => SSL ssl_truststore_location => '{folder}/ca.p12' ssl_truststore_password => changeit \
         ssl_keystore_location => '{folder}/server.p12' ssl_keystore_password => changeit"
        ),
    );
}

#[test]
fn a_broker_whose_authority_is_not_trusted_is_not_spoken_to() {
    let (Some(address), Some(folder)) = (given("SPILLWAY_KAFKA_TLS"), given("SPILLWAY_KAFKA_CERTIFICATES")) else {
        return;
    };
    let options = format!("security_protocol => SSL ssl_truststore_location => '{folder}/other-ca.crt'");
    let mut program = Program::start(&(input(&address, "t", "g", &options) + "output { null { } }"));
    program.until_logged("certificate verify failed");
}

/// What alice may do is an operator's to mend: nothing is a dead letter for it, unless an event chose the topic.
#[test]
fn without_permission_the_pipeline_waits_until_it_is_given() {
    if broker().is_none() {
        return;
    }
    let settings =
        "authorizer.class.name=org.apache.kafka.metadata.authorizer.StandardAuthorizer super.users=User:ANONYMOUS";
    let own = Own::start("permissions", settings);
    let there = own.broker();
    let (from, to, other) = (there.topic("from", 1), there.topic("to", 1), there.topic("other", 1));
    let may = |words: &[&str]| {
        let tool = [
            "tool",
            "org.apache.kafka.tools.AclCommand",
            "--bootstrap-server",
            &there.address,
            "--add",
            "--allow-principal",
            "User:alice",
        ];
        own.does(&[&tool, words].concat());
    };
    let jaas = "x.PlainLoginModule required username=\"alice\" password=\"secret\";";
    let login = format!("security_protocol => SASL_PLAINTEXT sasl_mechanism => PLAIN sasl_jaas_config => '{jaas}'");
    let address = own.address_for_alice();
    let chosen = output(&address, "%{topic}", &format!("{login} acks => all")).replace("id => out", "id => chosen");
    let config = input(&address, &from, "readers", &login)
        + "filter { if [message] =~ /^other/ { mutate { add_field => { topic => '"
        + &other
        + "' } } } }\n"
        + &format!(
            "output {{ if [topic] {{ {} }} else {{ {} }} }}",
            inside(&chosen),
            inside(&output(&address, &to, &format!("{login} acks => all")))
        );
    there.send(&from, ["a", "other", "b"].map(text));
    let mut program = Program::start(&config);
    program.until_logged("authorization failed");
    may(&["--operation", "read", "--topic", &from, "--group", "readers"]);
    program.until_logged(&format!("{to}: Broker: Topic authorization failed"));
    assert!(there.read(&to).is_empty() && there.committed("readers", &from, 1)[&0] <= 0);
    may(&["--operation", "write", "--topic", &to]);
    program.until("the records arrive", || there.values(&to) == ["a", "b"]);
    program.until("all is dealt with", || there.committed("readers", &from, 1)[&0] == 3);
    let home = program.home.clone();
    program.stop();
    let dead = crate::program::dead_letters(&home);
    assert_eq!(dead.len(), 1);
    assert!(dead[0].reason.to_string().contains("authorization failed"), "{}", dead[0].reason);
}

/// What stands between the outer braces.
fn inside(section: &str) -> &str {
    &section[section.find('{').unwrap() + 1..section.rfind('}').unwrap()]
}

//! Encryption and login.

use crate::broker::{broker, text};
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

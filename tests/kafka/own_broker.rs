//! Brokers of a test's own, for what cannot be done to the one that all tests share.

use std::process::Command;

use crate::broker::Broker;
use crate::ports::free_port;

/// The broker of `tests/services/kafka.sh`, gone with its data when this is dropped.
pub struct Own {
    port: u16,
    instance: String,
}

impl Own {
    /// Starts one.
    pub fn start(name: &str) -> Self {
        // Another program may take a port in the moment before the broker does.
        for number in 0..5 {
            let instance = format!("{name}-{number}-{}", std::process::id());
            // The controller has the port above.
            let own = Self { port: free_port(), instance };
            if own.try_to(&["start"]) {
                return own;
            }
        }
        panic!("no broker of this test's own starts");
    }

    /// Runs `kafka.sh` for this broker.
    #[track_caller]
    pub fn does(&self, words: &[&str]) {
        assert!(self.try_to(words), "kafka.sh {words:?}");
    }

    fn try_to(&self, words: &[&str]) -> bool {
        let script = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/services/kafka.sh");
        let mut command = Command::new(script);
        let status = command
            .args(words)
            .env_remove("KAFKA_TLS_PORT")
            .env("KAFKA_PORT", self.port.to_string())
            .env_remove("KAFKA_SASL_PORT")
            .env_remove("KAFKA_SETTINGS")
            .env("KAFKA_INSTANCE", &self.instance)
            .env("KAFKA_HEAP", "256m")
            .status();
        status.unwrap().success()
    }

    /// To write and read its topics without a password.
    pub fn broker(&self) -> Broker {
        Broker::at(&format!("127.0.0.1:{}", self.port))
    }
}

impl Drop for Own {
    fn drop(&mut self) {
        self.try_to(&["wipe"]);
    }
}

//! Index lifecycle management: events go to an alias, behind which the server begins new indexes as a policy says.

use reqwest::Method;
use serde_json::{Value as Json, json};

use super::LOG;
use super::setup::{Session, Trouble};
use crate::plugins::elasticsearch::about::{Product, Server};
use crate::plugins::elasticsearch::endpoint::encoded;

/// The policy that is made when it is missing.
pub(super) const DEFAULT_POLICY: &str = "logstash-policy";

/// `ilm_enabled`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Wanted {
    /// Where the server has it.
    Auto,
    /// A server without it is a mistake.
    Yes,
}

/// What the options say of lifecycles; there is none when they never apply.
pub(super) struct Lifecycle {
    /// Whether the server must know them.
    pub wanted: Wanted,
    /// `ilm_rollover_alias`.
    pub alias: String,
    /// `ilm_pattern`.
    pub pattern: String,
    /// `ilm_policy`.
    pub policy: String,
    /// An `index` was given, which the alias takes the place of.
    pub replaces_index: bool,
}

impl Lifecycle {
    /// Whether it applies to this server. An error is a wrong configuration.
    pub fn applies(&self, server: Server) -> Result<bool, String> {
        let without = match server.product {
            Product::Elasticsearch => return Ok(true),
            Product::Serverless => "A serverless project",
            Product::OpenSearch => "OpenSearch",
        };
        match self.wanted {
            Wanted::Auto => Ok(false),
            Wanted::Yes => Err(format!("`ilm_enabled => true`: {without} has no index lifecycle management")),
        }
    }

    /// Makes the alias with its first index, and the default policy.
    pub async fn install(&self, session: &Session<'_>) -> Result<(), Trouble> {
        if self.replaces_index {
            tracing::warn!(target: LOG,
                "Overwriting supplied index with rollover alias `{}`: `ilm_rollover_alias` is set", self.alias);
        }
        self.install_alias(session).await?;
        self.install_policy(session).await
    }

    async fn install_alias(&self, session: &Session<'_>) -> Result<(), Trouble> {
        let found = session.call(Method::HEAD, &format!("/{}", encoded(&self.alias)), None).await?;
        match found.status {
            200..300 => return Ok(()),
            404 => {}
            _ => return Err(Trouble::refused("the rollover alias cannot be looked up", &found)),
        }
        let first = format!("/{}", encoded(&format!("<{}-{}>", self.alias, self.pattern)));
        let aliases = json!({ "aliases": { self.alias.as_str(): { "is_write_index": true } } });
        let made = session.call(Method::PUT, &first, Some(&aliases)).await?;
        match made.status {
            200..300 => tracing::info!(target: LOG, "Created rollover alias {}", self.alias),
            400 => tracing::info!(target: LOG, "Rollover alias {} already exists, it is used", self.alias),
            _ => return Err(Trouble::refused("the rollover alias cannot be made", &made)),
        }
        Ok(())
    }

    async fn install_policy(&self, session: &Session<'_>) -> Result<(), Trouble> {
        let path = format!("/_ilm/policy/{}", encoded(&self.policy));
        let found = session.call(Method::GET, &path, None).await?;
        match found.status {
            200..300 => return Ok(()),
            404 if self.policy == DEFAULT_POLICY => {}
            404 => {
                let policy = &self.policy;
                return Err(Trouble::Wrong(format!(
                    "The specified ILM policy {policy} does not exist on the server: make it, or leave out `ilm_policy`"
                )));
            }
            _ => return Err(Trouble::refused("the policy cannot be looked up", &found)),
        }
        let made = session.call(Method::PUT, &path, Some(&default_policy())).await?;
        if !made.is_success() {
            return Err(Trouble::refused("the policy cannot be made", &made));
        }
        tracing::info!(target: LOG, "Installed ILM policy {}", self.policy);
        Ok(())
    }

    /// For tests: an alias and its policy.
    #[cfg(test)]
    pub fn with(alias: &str, policy: &str) -> Self {
        let (alias, policy) = (alias.to_owned(), policy.to_owned());
        Self { wanted: Wanted::Auto, alias, pattern: "{now/d}-000001".to_owned(), policy, replaces_index: false }
    }
}

/// A new index when one is large or old.
fn default_policy() -> Json {
    json!({ "policy": { "phases": { "hot": { "actions": { "rollover": { "max_size": "50gb", "max_age": "30d" } } } } } })
}

//! The transaction of a pipeline: its `kafka` outputs write in it, and its `kafka` input commits it together with the
//! offsets of what it read, so that readers of committed records see the outcome of each record once.
//!
//! The input pushes for a while, stops, and waits until nothing of it is on its way ([`account`]): then all that it
//! pushed is in the transaction ([`session`]) or was dropped by the filters, whatever the batches were. Only then it
//! commits ([`commit`]). Outputs hold the leases of their batches until that is decided, so that filters which remember
//! events hear of it after the commit.

mod account;
mod commit;
mod session;

use std::sync::{Arc, OnceLock};
use std::time::Duration;

use parking_lot::Mutex;
use rdkafka::ClientConfig;

pub use self::account::Account;
pub use self::commit::Outcome;
pub use self::session::Session;
use crate::plugins::{Context, PluginError, Stop};

/// What input and outputs of a pipeline have in common; one for each pipeline.
#[derive(Default)]
pub struct Transactions {
    /// What the input pushed and what became of it.
    pub account: Account,
    plan: Mutex<Option<Plan>>,
    session: OnceLock<Arc<Session>>,
}

/// How to make the session.
#[derive(Clone)]
struct Plan {
    id: String,
    client: ClientConfig,
    interval: Option<Duration>,
}

impl Transactions {
    /// An output takes part. The first one says how the client is made. Fails when the pipeline has another id.
    pub fn join(&self, id: &str, client: &ClientConfig, interval: Option<Duration>) -> Result<(), String> {
        let mut plan = self.plan.lock();
        let plan = plan.get_or_insert_with(|| Plan { id: id.to_owned(), client: client.clone(), interval });
        if plan.id != id {
            return Err(format!("the outputs of a pipeline share one transaction: `{}` and `{id}` are two", plan.id));
        }
        plan.interval = plan.interval.or(interval);
        Ok(())
    }

    /// Starts the session, which ends what an earlier process with the same id left open. Waits for the brokers.
    pub async fn open(&self, context: &Context, stop: &Stop) -> Result<Arc<Session>, PluginError> {
        if let Some(session) = self.session.get() {
            return Ok(session.clone());
        }
        let plan = self.plan.lock().clone().ok_or_else(|| PluginError::new("no output has a `transactional_id`"))?;
        let session = Session::open(&plan.client, plan.interval, context.clone(), stop).await?;
        Ok(self.session.get_or_init(|| Arc::new(session)).clone())
    }

    /// The session, once an output has started it.
    pub fn session(&self) -> Option<Arc<Session>> {
        self.session.get().cloned()
    }
}

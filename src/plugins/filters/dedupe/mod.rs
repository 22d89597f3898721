//! `dedupe`: drops events whose key was seen before, and remembers a key for good only once its event is dealt with.
//!
//! [`key`] makes the key of an event. [`store`] knows the keys: in memory in [`table`], on disk in a [`log`] of
//! [`segment`]s. A key is *pending* while its batch is on its way; only when the outputs have the batch is it written,
//! and only then do the sources hear that the batch is dealt with. So a crash at any moment brings events back, but none
//! is taken for a duplicate of itself. [`janitor`] forgets what has expired.

pub mod exchange;
mod janitor;
mod key;
pub mod log;
pub mod segment;
mod store;
mod table;
#[cfg(test)]
mod tests;

use std::path::PathBuf;
use std::sync::{Arc, OnceLock};
use std::time::Duration;

use super::failure::Burial;
use crate::event::{Clock, Event, FieldRef, METADATA, Map, Text, Timestamp, Value};
use crate::metrics::{Counter, PluginMetrics};
use crate::plugins::{Filter, FilterBatch, FilterPlugin, Options, Outcome, PluginError, Stop};
use janitor::Janitor;
use key::Key;
use log::Log;
use store::{Rules, Seen, Store};

/// The plugin.
pub const PLUGIN: FilterPlugin =
    FilterPlugin { name: "dedupe", summary: "Drops events whose key was seen before.", build };

/// Tag of an event that was seen before.
const DUPLICATE: &str = "_duplicate";
/// Tag of an event without a key.
const NO_KEY: &str = "_dedupe_no_key";

struct Dedupe {
    key: Key,
    on_duplicate: OnDuplicate,
    on_missing_key: OnMissingKey,
    burial: Burial,
    settings: Settings,
    metadata: FieldRef,
    counters: Counters,
    open: OnceLock<Open>,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum OnDuplicate {
    Drop,
    Tag,
    Bury,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum OnMissingKey {
    Pass,
    Drop,
    Bury,
}

/// When keys are synced.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Sync {
    Batch,
    Interval(Duration),
    None,
}

struct Settings {
    /// None keeps the keys in memory.
    folder: Option<PathBuf>,
    ttl: i64,
    purge_interval: Duration,
    refresh: bool,
    max_keys: usize,
    evicts: bool,
    sync: Sync,
    clock: Clock,
    stop: Stop,
    metrics: Arc<PluginMetrics>,
}

struct Counters {
    first: Arc<Counter>,
    duplicates: Arc<Counter>,
    missing_key: Arc<Counter>,
}

/// What runs.
struct Open {
    store: Arc<Store>,
    janitor: Janitor,
}

fn build(options: &mut Options<'_>) -> Box<dyn Filter> {
    let context = options.context().clone();
    let key = Key::read(options);
    let ttl = options.duration("ttl").doc("How long a key is remembered; longer than any replay takes.");
    let ttl = ttl.default(Duration::from_secs(168 * 3600));
    let purge_interval = options.duration("purge_interval").doc("How often expired keys are forgotten.");
    let purge_interval = purge_interval.default(Duration::from_secs(600));
    let folder = read_folder(options);
    let on_duplicate = options.word("on_duplicate", &["drop", "tag", "dlq"]).doc("What becomes of a duplicate.");
    let on_duplicate = match on_duplicate.default("drop".to_owned()).as_str() {
        "tag" => OnDuplicate::Tag,
        "dlq" => OnDuplicate::Bury,
        _ => OnDuplicate::Drop,
    };
    let on_missing_key = read_on_missing_key(options);
    let burial = Burial::read(options);
    if on_duplicate == OnDuplicate::Bury {
        burial.must_be_possible(options, "on_duplicate");
    }
    if on_missing_key == OnMissingKey::Bury {
        burial.must_be_possible(options, "on_missing_key");
    }
    let refresh = options.boolean("refresh").doc("Whether a duplicate starts the time of its key anew.").default(false);
    let max_keys = options.integer("max_keys").doc("Most keys; 0 for no limit.").default(0);
    let on_full = options.word("on_full", &["evict_oldest", "pass"]);
    let on_full = on_full.doc("With too many keys the oldest go, or new events pass and are not remembered.");
    let evicts = on_full.default("evict_oldest".to_owned()) == "evict_oldest";
    let sync = read_sync(options);
    if ttl.is_zero() {
        options.invalid("ttl", "`ttl` is more than nothing");
    }
    if max_keys < 0 {
        options.invalid("max_keys", "`max_keys` is not negative");
    }
    let counter = |name| context.metrics.counter(name);
    counter("max_keys").set(u64::try_from(max_keys).unwrap_or(0));
    Box::new(Dedupe {
        key,
        on_duplicate,
        on_missing_key,
        burial,
        metadata: FieldRef::path_of(&[METADATA, "dedupe"]),
        counters: Counters {
            first: counter("first"),
            duplicates: counter("duplicates"),
            missing_key: counter("missing_key"),
        },
        settings: Settings {
            folder,
            ttl: i64::try_from(ttl.as_millis()).unwrap_or(i64::MAX).max(1),
            purge_interval,
            refresh,
            max_keys: usize::try_from(max_keys).unwrap_or(0),
            evicts,
            sync,
            clock: context.clock,
            stop: context.stop,
            metrics: context.metrics,
        },
        open: OnceLock::new(),
    })
}

/// An event without a key is the one that this filter can do nothing with, so that is what `on_failure` is about.
fn read_on_missing_key(options: &mut Options<'_>) -> OnMissingKey {
    let on_failure = options.word("on_failure", &["tag", "dlq", "drop"]);
    let on_failure = on_failure.doc("What becomes of an event without a key unless `on_missing_key` says so.");
    let on_failure = on_failure.default("tag".to_owned());
    let on_missing_key = options.word("on_missing_key", &["pass", "drop", "dlq"]);
    let on_missing_key = on_missing_key.doc("What becomes of an event without a key; `pass` gives it a tag.");
    match on_missing_key.optional().unwrap_or(on_failure).as_str() {
        "drop" => OnMissingKey::Drop,
        "dlq" => OnMissingKey::Bury,
        _ => OnMissingKey::Pass,
    }
}

/// Where the keys live. A name is asked for, since an id that is made from the configuration changes with it.
fn read_folder(options: &mut Options<'_>) -> Option<PathBuf> {
    let context = options.context();
    let store = options.word("store", &["persistent", "memory"]).doc("Whether keys survive a restart.");
    let is_persistent = store.default("persistent".to_owned()) == "persistent";
    let name = options.string("name").doc("Names the folder of the keys; needed unless they are in memory.").optional();
    if !is_persistent {
        if name.is_some() {
            options.invalid("name", "`name` belongs to `store => \"persistent\"`");
        }
        return None;
    }
    let Some(name) = name else {
        let message = "the dedupe filter needs a `name` for its store on disk: without one its keys would be lost with \
                       the next change of the configuration";
        options.invalid("", message);
        return None;
    };
    let is_plain = |c: char| c.is_ascii_alphanumeric() || matches!(c, '-' | '_' | '.');
    if name.is_empty() || name.starts_with('.') || !name.chars().all(is_plain) {
        options.invalid("name", format!("`name` is `{name}`: write letters, digits, `-`, `_` and `.` for a folder"));
        return None;
    }
    let folder = context.path_data.join("plugins/filters/dedupe").join(&*context.pipeline_id).join(&name);
    if !context.claims.claim(&folder) {
        options.invalid("name", format!("two dedupe filters have the `name` `{name}`: give each its own"));
    }
    Some(folder)
}

fn read_sync(options: &mut Options<'_>) -> Sync {
    let text = options.string("sync").doc("When keys are synced to disk: `batch`, `interval(1s)` or `none`.");
    let text = text.default("batch".to_owned());
    let interval = || {
        let inside = text.strip_prefix("interval(")?.strip_suffix(')')?;
        crate::plugins::convert::duration_text(inside.trim(), 1.0).filter(|interval| !interval.is_zero())
    };
    match (text.as_str(), interval()) {
        ("batch", _) => Sync::Batch,
        ("none", _) => Sync::None,
        (_, Some(interval)) => Sync::Interval(interval),
        _ => {
            options.invalid("sync", format!("`sync` is batch, none or such as interval(1s), and not `{text}`"));
            Sync::Batch
        }
    }
}

impl Filter for Dedupe {
    fn register(&self) -> Result<(), PluginError> {
        let settings = &self.settings;
        let log = settings.folder.as_ref().map(|folder| {
            let (now, mut shards) = (settings.clock.millis(), store::empty_shards());
            let log = Log::open(folder, settings.ttl, |record| {
                if now.saturating_sub(record.1) < settings.ttl {
                    store::restore(&mut shards, record);
                }
            });
            log.map(|log| (log, shards))
        });
        let rules = Rules {
            ttl: settings.ttl,
            refresh: settings.refresh,
            max_keys: settings.max_keys,
            evicts: settings.evicts,
            syncs: settings.sync == Sync::Batch,
        };
        let log = log.transpose().map_err(PluginError::new)?;
        let store = Arc::new(Store::new(rules, log, settings.clock.clone(), settings.stop.clone(), &settings.metrics));
        let sync = match settings.sync {
            Sync::Interval(interval) => Some(interval),
            Sync::Batch | Sync::None => None,
        };
        store.purge_log();
        let janitor = Janitor::start(store.clone(), settings.purge_interval, sync).map_err(PluginError::new)?;
        // A filter is registered once.
        let _ = self.open.set(Open { store, janitor });
        Ok(())
    }

    fn filter(&self, batch: &mut FilterBatch<'_>) {
        let Some(Open { store, .. }) = self.open.get() else { return };
        let promises = batch.promises();
        let number = promises.batch();
        let for_batch = store.clone();
        promises.make(Arc::as_ptr(store).addr(), move |ok| for_batch.end(number, ok));
        let mut text = Vec::new();
        batch.each(|event| {
            text.clear();
            if !self.key.write(event, &mut text) {
                return self.without_key(event);
            }
            match store.see(store.hash(&text), number) {
                Seen::First => {
                    self.counters.first.add(1);
                    Outcome::Matched
                }
                Seen::Again { seen, count } => self.again(event, seen, count),
            }
        });
    }

    fn remembers(&self) -> bool {
        true
    }

    fn close(&self) {
        if let Some(Open { store, janitor }) = self.open.get() {
            janitor.stop();
            store.sync();
        }
    }
}

impl Dedupe {
    fn again(&self, event: &mut Event, seen: i64, count: u32) -> Outcome {
        self.counters.duplicates.add(1);
        match self.on_duplicate {
            OnDuplicate::Drop => event.cancel(),
            OnDuplicate::Bury => {
                let at = Timestamp::from_millis(seen).map(|at| format!(" at {at}")).unwrap_or_default();
                self.burial.bury(event, &format!("DUPLICATE: the key of the event was seen before{at}"));
            }
            OnDuplicate::Tag => {
                let mut known = Map::with_capacity(2);
                known.insert(Text::borrowed("first_seen_ms"), seen);
                known.insert(Text::borrowed("count"), i64::from(count));
                if let Err(error) = event.set(&self.metadata, Value::Map(known)) {
                    tracing::warn!(target: "spillway.filters.dedupe", "{error}");
                }
                event.tag(DUPLICATE);
            }
        }
        Outcome::Unmatched
    }

    fn without_key(&self, event: &mut Event) -> Outcome {
        self.counters.missing_key.add(1);
        match self.on_missing_key {
            OnMissingKey::Pass => event.tag(NO_KEY),
            OnMissingKey::Drop => event.cancel(),
            OnMissingKey::Bury => {
                self.burial.bury(event, "MISSING_KEY: the key is empty, or a field of it is not there");
            }
        }
        Outcome::Unmatched
    }
}

//! What workers, writers and the watch over the nodes of one output share.

use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use super::batch::{Group, Rows};
use super::buffers::Buffers;
use super::client::Connector;
use super::counters::Counters;
use super::nodes::Nodes;
use super::options::{Delivery, Exhausted, Settings};
use super::pack::Compression;
use super::queue::Queue;
use super::request::Requests;
use super::row::RowForm;
use super::table::TableNames;
use super::watch::Watch;
use crate::event::{Event, Text};
use crate::plugins::{Context, DeadLetters, Stop};

/// One output at work.
pub(super) struct Sink {
    pub settings: Manner,
    tables: TableNames,
    rows: RowForm,
    pub requests: Requests,
    pub queue: Queue,
    pub nodes: Nodes,
    pub counters: Arc<Counters>,
    pub dead_letters: DeadLetters,
    /// The pipeline is to stop.
    pub stop: Stop,
}

/// How inserts are sent, and what becomes of those that fail.
pub(super) struct Manner {
    pub delivery: Delivery,
    pub compression: Compression,
    /// Tries after the first; `None` for no limit.
    pub retries: Option<u32>,
    /// First and longest wait between tries.
    pub retry: (Duration, Duration),
    pub automatic_retries: u32,
    /// What becomes of rows whose retries are used up.
    pub exhausted: Exhausted,
    pub save_dir: PathBuf,
    pub exclude_codes: Vec<u32>,
    /// Rows are written to nodes' own tables, so that a shard knows only its own inserts.
    pub local_table: bool,
    /// The table depends on the event.
    pub has_many_tables: bool,
}

impl Sink {
    /// Puts the parts together; contacts nobody.
    pub fn new(settings: Settings, connector: Connector, context: &Context) -> (Self, Watch, usize) {
        let Settings { connections, table, rows, requests, limits, manner, watch, writers } = settings;
        let counters = Arc::new(Counters::new(&context.metrics));
        let buffers = Buffers::new(limits, requests.database.clone(), counters.clone());
        let sink = Self {
            settings: manner,
            tables: table,
            rows,
            requests,
            queue: Queue::new(buffers, connections.timeout),
            nodes: Nodes::new(connector, connections.most, watch.exclude_hosts.clone(), counters.clone()),
            counters,
            dead_letters: context.dead_letters.clone(),
            stop: context.stop.clone(),
        };
        (sink, watch, writers)
    }

    /// Makes rows of events, sorted by table. Events without a table are `dead`, with the reason.
    pub fn groups(&self, events: &[&Event], dead: &mut Vec<(usize, String)>) -> Vec<Group> {
        let keeps_events = self.dead_letters.is_enabled();
        let mut groups: Vec<Group> = Vec::new();
        let mut name = String::new();
        for (at, event) in events.iter().enumerate() {
            name.clear();
            if let Err(why) = self.tables.write(event, &mut name) {
                dead.push((at, format!("Could not map event to a ClickHouse table. message: {why}")));
                continue;
            }
            // A batch goes to a handful of tables, and neighbours mostly to the same.
            let place = groups.iter().rposition(|group| group.table.as_str() == name).unwrap_or_else(|| {
                groups.push(Group { table: Text::from(name.as_str()), rows: Rows::default() });
                groups.len() - 1
            });
            let Some(Group { rows, .. }) = groups.get_mut(place) else { continue };
            self.rows.write(event, &mut rows.bytes);
            rows.ends.push(rows.bytes.len());
            if keeps_events {
                rows.events.push((*event).clone());
            }
        }
        groups
    }
}

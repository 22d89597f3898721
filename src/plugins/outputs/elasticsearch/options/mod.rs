//! The options of both plugins, read into [`Settings`]: [`servers`] and [`connections`] say where to and how,
//! [`documents`] what an event becomes, [`streams`] and [`management`] where it goes and what is put in place for that,
//! [`rules`] what becomes of what is refused.

mod connections;
mod documents;
mod management;
mod old_names;
mod opensearch;
mod rules;
mod servers;
mod streams;

use std::sync::Arc;
use std::time::Duration;

use self::servers::Servers;
use super::actions::Actions;
use super::cluster::Care;
use super::flavor::Flavor;
use super::setup::Setup;
use super::startup::Expected;
use super::target::Target;
use super::verdict::Rules;
use crate::event::{EscapeStyle, Template};
use crate::plugins::elasticsearch::endpoint::Endpoint;
use crate::plugins::elasticsearch::http::HttpOptions;
use crate::plugins::{Ecs, Options};

pub(super) use self::opensearch::{name as opensearch_name, read as opensearch};

/// A request is cut before the action that would make its body larger than this, before compression.
const TARGET_BYTES: usize = 20 * 1024 * 1024;

/// Everything that the options say.
pub(super) struct Settings {
    /// The plugin.
    pub flavor: Flavor,
    /// One per host.
    pub endpoints: Vec<Endpoint>,
    /// How to talk to them.
    pub http: HttpOptions,
    /// How events become actions.
    pub actions: Actions,
    /// What becomes of a refused item.
    pub rules: Rules,
    /// Level of gzip; 0 for none.
    pub compression: u32,
    /// Bytes of a request before compression.
    pub target_bytes: usize,
    /// First and longest wait before a retry.
    pub retry: (Duration, Duration),
    /// How the servers are looked after.
    pub care: Care,
    /// What was decided, for the log of the start.
    pub notes: Vec<String>,
}

/// Reads the options of `elasticsearch`. `None` when one that everything else needs is wrong; every mistake is reported.
pub(super) fn elasticsearch(options: &mut Options<'_>) -> Option<Settings> {
    let flavor = Flavor::Elasticsearch;
    options.idle_codec("events are sent as JSON");
    let servers = servers::elasticsearch(options);
    let http = connections::elasticsearch(options, servers.as_ref().is_some_and(|servers| servers.secure));
    let ecs = Ecs::read(options);
    let documents = documents::read(options, flavor);
    let manage = options
        .boolean("manage_template")
        .doc("Whether an index template is installed; true unless events go to a data stream.")
        .optional();
    let streams = streams::read(options, ecs, &documents, manage);
    let index = documents::index(options);
    let checks = options
        .boolean("dlq_on_failed_indexname_interpolation")
        .doc("An index name with an unresolved %{…} goes to the dead letter queue; false sends it as it is.")
        .default(true);
    let goes_to_stream = streams.stream.is_some();
    let template = management::template(options, ecs, manage.unwrap_or(!goes_to_stream), management::elastic_api);
    let lifecycle = management::lifecycle(options, ecs, index.is_set, goes_to_stream);
    let rules = rules::elasticsearch(options);
    let compression = connections::elastic_compression(options);
    let (resurrect_delay, retry) = connections::rhythm(options);
    old_names::refuse(options);

    let target = Arc::new(match (streams.stream, index.template, index.is_set) {
        (Some(stream), _, _) => Target::stream(stream, checks),
        (None, Some(index), _) => Target::named(index, checks),
        (None, None, false) => default_target(ecs, checks),
        (None, None, true) => return None,
    });
    let parts = documents.parts(options, target.clone(), goes_to_stream);
    let Servers { endpoints, sniffing, .. } = servers?;
    let setup = Setup { flavor, template, lifecycle, target };
    let expected = Expected { flavor, default_major: None };
    Some(Settings {
        flavor,
        endpoints,
        http: http?,
        actions: Actions::new(parts?),
        rules,
        compression,
        target_bytes: TARGET_BYTES,
        retry,
        care: Care { expected, setup, sniffing, resurrect_delay, retry },
        notes: streams.notes,
    })
}

/// The index of a configuration that names none.
fn default_target(ecs: Ecs, checks: bool) -> Target {
    let prefix = if ecs.is_disabled() { "logstash" } else { "ecs-logstash" };
    let name = format!("{prefix}-%{{+yyyy.MM.dd}}");
    // The pattern is known to be right; a constant name would be a stand-in.
    let dated = Template::compile(&name, EscapeStyle::None).unwrap_or_else(|_| Template::constant(prefix));
    Target::dated(dated, checks)
}

#[cfg(test)]
mod tests {
    use crate::plugins::testing::warnings;

    #[test]
    fn what_has_no_effect_is_told() {
        for (options, words) in [
            ("index => logs ilm_enabled => true", "`ilm_enabled` has no effect"),
            ("index => logs join_field => rel", "`join_field` has no effect"),
            ("index => logs scripted_upsert => true", "`scripted_upsert` has no effect"),
            ("index => logs proxy => ''", "an empty `proxy` has no effect"),
            ("index => logs hosts => 'https://h' ssl_enabled => false", "TLS is used although `ssl_enabled` is false"),
            ("index => logs hosts => 'https://h' ssl_verification_mode => none", "DISABLED"),
        ] {
            let told = warnings(&format!("input {{ stdin {{ }} }} output {{ elasticsearch {{ {options} }} }}"));
            assert!(told.contains(words), "{options}: {told}");
        }
    }
}

//! Options of Logstash's output that this version refuses: those it does not have yet, and those that are long gone.
//! Switching a missing feature off is accepted.

use super::super::server_tls;
use crate::plugins::Options;

/// Declares and refuses them.
pub(super) fn refuse(options: &mut Options<'_>) {
    templates(options);
    lifecycle_and_streams(options);
    connections(options);
    documents(options);
    gone(options);
}

fn templates(options: &mut Options<'_>) {
    let why = "no index template is installed yet: install yours on the server";
    let doc = "Whether to install an index template. None is installed in this version.";
    off_only(options, "manage_template", doc, why);
    for name in ["template", "template_name", "template_overwrite", "template_api"] {
        options.unsupported(name, why);
    }
}

fn lifecycle_and_streams(options: &mut Options<'_>) {
    let ilm = options
        .word("ilm_enabled", &["true", "false", "auto"])
        .doc("Index lifecycle management. Not supported yet; it never applies to an `index` of one's own.")
        .optional();
    if ilm.as_deref() == Some("true") {
        options.invalid("ilm_enabled", "`ilm_enabled => true` is not supported yet: set it up on the server");
    }
    for name in ["ilm_rollover_alias", "ilm_pattern", "ilm_policy"] {
        options.unsupported(name, "set up index lifecycle management on the server, and give its alias as `index`");
    }
    let instead = "give the name of the data stream as `index`, with `action => create`";
    let stream = options
        .word("data_stream", &["true", "false", "auto"])
        .doc("Whether to write to a data stream. Not supported yet; with `index` it never applies.")
        .optional();
    if stream.as_deref() == Some("true") {
        options.invalid("data_stream", format!("`data_stream => true` is not supported yet: {instead}"));
    }
    for name in [
        "data_stream_type",
        "data_stream_dataset",
        "data_stream_namespace",
        "data_stream_auto_routing",
        "data_stream_sync_fields",
    ] {
        options.unsupported(name, instead);
    }
}

fn connections(options: &mut Options<'_>) {
    let all = "give all servers in `hosts`";
    off_only(options, "sniffing", "Whether to ask the servers for more servers. Not supported yet.", all);
    for name in ["sniffing_delay", "sniffing_path"] {
        options.unsupported(name, all);
    }
    let proxy = options.string("proxy").doc("HTTP proxy. Not supported yet; empty for none.").optional();
    match proxy.as_deref() {
        None => {}
        Some("") => options.warn("proxy", "no-effect", "an empty `proxy` has no effect: no proxy is used"),
        Some(_) => options.invalid("proxy", "`proxy` is not supported yet"),
    }
    options.unsupported("cloud_id", "give the URL of the deployment in `hosts`");
    server_tls::refuse_stores(options);
}

fn documents(options: &mut Options<'_>) {
    for name in ["script", "script_type", "script_lang", "script_var_name", "upsert"] {
        options.unsupported(name, "use an ingest pipeline, or `doc_as_upsert`");
    }
    for name in ["version", "version_type", "parent", "join_field"] {
        options.unsupported(name, "use an ingest pipeline, or `routing`");
    }
}

fn off_only(options: &mut Options<'_>, name: &'static str, doc: &'static str, instead: &str) {
    if options.boolean(name).doc(doc).default(false) {
        options.invalid(name, format!("`{name}` is not supported yet: {instead}"));
    }
}

fn gone(options: &mut Options<'_>) {
    for (name, instead) in [
        ("ssl", "Set `ssl_enabled` instead."),
        ("ssl_certificate_verification", "Set `ssl_verification_mode` instead."),
        ("cacert", "Set `ssl_certificate_authorities` instead."),
        ("truststore", "Set `ssl_truststore_path` instead."),
        ("keystore", "Set `ssl_keystore_path` instead."),
        ("truststore_password", "Set `ssl_truststore_password` instead."),
        ("keystore_password", "Set `ssl_keystore_password` instead."),
    ] {
        options.obsolete(name, instead);
    }
}

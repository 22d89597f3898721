//! From the options of a `csv` block to the filter.

use std::sync::OnceLock;

use super::Csv;
use super::columns::Columns;
use crate::event::FieldRef;
use crate::plugins::csv::{Conversion, Syntax};
use crate::plugins::{Ecs, Filter, Options};

pub(super) fn build(options: &mut Options<'_>) -> Box<dyn Filter> {
    // The names are the same with and without ECS.
    let _ = Ecs::read(options);
    let source = options.field("source").doc("Field that holds the text.").default(FieldRef::top("message"));
    let target = options.field("target").doc("Field that the columns lie below.").optional();
    let names = options.strings("columns").doc("Names of the columns, in order.").default(Vec::new());
    let syntax = Syntax::from_options(options);
    let conversions = Conversion::from_options(options);
    let autogenerate = options
        .boolean("autogenerate_column_names")
        .doc("Whether columns without a name are called `column1`, …; otherwise they are left out.")
        .default(true);
    let detects = options
        .boolean("autodetect_column_names")
        .doc("Whether the first event names the columns. Needs one worker.")
        .default(false);
    let detected = (detects && names.is_empty()).then(OnceLock::new);
    Box::new(Csv {
        source,
        syntax,
        columns: Columns::new(target, conversions, names, options.context().escape_style),
        detected,
        autogenerate,
        skip_header: options
            .boolean("skip_header")
            .doc("Whether an event whose values are the names of the columns is dropped.")
            .default(false),
        skip_empty_columns: options
            .boolean("skip_empty_columns")
            .doc("Whether empty values are left out.")
            .default(false),
        skip_empty_rows: options
            .boolean("skip_empty_rows")
            .doc("Whether an empty text is tagged `_csvskippedemptyfield` instead of failing.")
            .default(false),
    })
}

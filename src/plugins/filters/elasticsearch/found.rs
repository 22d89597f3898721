//! Where an answer goes.

use super::LOG;
use super::question::Answer;
use crate::event::{Event, FieldRef, Map, Text, Value};
use crate::plugins::Outcome;
use crate::plugins::elasticsearch::search::take_hits;

/// From where in an answer to where in the event.
pub(super) type Pairs = Vec<(FieldRef, FieldRef)>;

/// Where the parts of an answer go.
pub(super) struct Destinations {
    /// `fields`: of the documents.
    pub fields: Pairs,
    /// `docinfo_fields`: of what the server says of the documents.
    pub docinfo: Pairs,
    /// `aggregation_fields`
    pub aggregations: Pairs,
    /// `target`, for the rows of ES|QL; the destinations above have it in them.
    pub target: Option<FieldRef>,
}

impl Destinations {
    /// Takes an answer into the event.
    pub fn put(&self, answer: Answer, event: &mut Event) -> Outcome {
        match answer {
            Answer::Search(answer) => self.put_search(answer, event),
            Answer::Rows(rows) => self.put_rows(rows, event),
        }
    }

    fn put_search(&self, mut answer: Map, event: &mut Event) -> Outcome {
        event.metadata_mut().insert(Text::borrowed("total_hits"), total(&answer));
        let mut hits: Vec<Event> = Vec::new();
        for hit in take_hits(&mut answer) {
            // As the fields of an event, so that references lead into it.
            let mut holder = Event::default();
            if let Value::Map(hit) = hit {
                *holder.fields_mut() = hit;
            }
            hits.push(holder);
        }
        let source = FieldRef::top("_source");
        let documents: Vec<Event> = hits.iter().map(|hit| within(hit.get(&source))).collect();
        if !hits.is_empty() {
            put_all(&self.fields, &documents, event);
            put_all(&self.docinfo, &hits, event);
        }
        let found = answer.get("aggregations");
        let has_aggregations = found.and_then(Value::as_map).is_some_and(|found| !found.is_empty());
        if has_aggregations {
            put_all(&self.aggregations, &[within(found)], event);
        }
        if hits.is_empty() && !has_aggregations { Outcome::Unmatched } else { Outcome::Matched }
    }

    fn put_rows(&self, rows: Vec<Map>, event: &mut Event) -> Outcome {
        let count = i64::try_from(rows.len()).unwrap_or(i64::MAX);
        event.metadata_mut().insert(Text::borrowed("total_values"), count);
        if rows.is_empty() {
            return Outcome::Unmatched;
        }
        match &self.target {
            Some(target) => set(event, target, Value::Array(rows.into_iter().map(Value::Map).collect())),
            None => {
                for (name, value) in rows.into_iter().next().unwrap_or_default().drain() {
                    set(event, &FieldRef::top(&name), value);
                }
            }
        }
        Outcome::Matched
    }
}

/// Servers count in a map, older ones in a number.
fn total(answer: &Map) -> Value {
    let total = answer.get("hits").and_then(Value::as_map).and_then(|hits| hits.get("total"));
    match total {
        Some(Value::Map(total)) => total.get("value").cloned().unwrap_or_default(),
        other => other.cloned().unwrap_or_default(),
    }
}

fn within(value: Option<&Value>) -> Event {
    let mut holder = Event::default();
    if let Some(Value::Map(map)) = value {
        *holder.fields_mut() = map.clone();
    }
    holder
}

/// One value as it is, several as a list.
fn put_all(pairs: &Pairs, from: &[Event], event: &mut Event) {
    for (source, destination) in pairs {
        let mut values: Vec<Value> = from.iter().map(|from| from.value_of(source).unwrap_or_default()).collect();
        let value = if values.len() == 1 { values.pop().unwrap_or_default() } else { Value::Array(values) };
        set(event, destination, value);
    }
}

fn set(event: &mut Event, field: &FieldRef, value: Value) {
    let value = match value {
        // What was a timestamp in the document is a text in the answer.
        Value::String(text) if field.top_level_name().is_some_and(|name| name == crate::event::TIMESTAMP) => {
            crate::event::Timestamp::parse(&text).map_or(Value::String(text), Value::Timestamp)
        }
        other => other,
    };
    if let Err(error) = event.set(field, value) {
        tracing::warn!(target: LOG, "what was found cannot be put into `{field}`: {error}");
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::event::EscapeStyle;
    use crate::plugins::testing;

    fn pairs(pairs: &[(&str, &str)]) -> Pairs {
        let field = |name: &str| FieldRef::parse(name, EscapeStyle::None).unwrap();
        pairs.iter().map(|(from, to)| (field(from), field(to))).collect()
    }

    fn put(answer: &str) -> (String, Value, Outcome) {
        let destinations = Destinations {
            fields: pairs(&[("[user][name]", "[who]")]),
            docinfo: pairs(&[("_id", "[found][id]")]),
            aggregations: pairs(&[("[max]", "[most]")]),
            target: None,
        };
        let mut event = testing::event("{}");
        let outcome = destinations.put(Answer::Search(testing::event(answer).fields().clone()), &mut event);
        (testing::json(&event), event.metadata().get("total_hits").cloned().unwrap_or_default(), outcome)
    }

    #[test]
    fn one_hit_gives_values_and_several_give_lists() {
        let hit = |id: &str| format!(r#"{{"_id":"{id}","_source":{{"user":{{"name":"n{id}"}}}}}}"#);
        let answer = |hits: &[String]| format!(r#"{{"hits":{{"total":{{"value":9}},"hits":[{}]}}}}"#, hits.join(","));
        let one = put(&answer(&[hit("1")]));
        assert_eq!(one, (r#"{"who":"n1","found":{"id":"1"}}"#.to_owned(), Value::from(9), Outcome::Matched));
        let two = put(&answer(&[hit("1"), hit("2")]));
        assert_eq!(two.0, r#"{"who":["n1","n2"],"found":{"id":["1","2"]}}"#);
        assert_eq!(put(&answer(&[])), ("{}".to_owned(), Value::from(9), Outcome::Unmatched));
    }

    #[test]
    fn aggregations_match_without_a_hit() {
        let answer = r#"{"hits":{"total":3,"hits":[]},"aggregations":{"max":{"value":7}}}"#;
        assert_eq!(put(answer), (r#"{"most":{"value":7}}"#.to_owned(), Value::from(3), Outcome::Matched));
    }
}

//! What events are enriched with: `enrich`, and the older `include_codec_tag`.

use crate::plugins::Options;

const ENRICH: &str = "enrich";
const WORDS: [&str; 3] = ["source_metadata", "codec_metadata", "ssl_peer_metadata"];

/// What is put on events.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Enrich {
    /// The sender's address.
    pub source: bool,
    /// A tag that names the codec, and the text as it came.
    pub codec: bool,
    /// What the sender's certificate says.
    pub peer: bool,
    /// Whether the user asks for that by its name.
    pub names_peer: bool,
    /// Whether the user chose.
    pub is_given: bool,
}

impl Enrich {
    /// Declares and reads the options.
    pub fn read(options: &mut Options<'_>) -> Self {
        let given = options
            .strings(ENRICH)
            .doc(
                "What to put on events: `source_metadata`, `codec_metadata`, `ssl_peer_metadata`; or `all`, or `none`.",
            )
            .optional();
        let tagged = options
            .boolean("include_codec_tag")
            .doc("Whether to tag events with the codec that made them.")
            .deprecated("use `enrich`")
            .optional();
        if let (Some(_), Some(_)) = (&given, tagged) {
            options.invalid(ENRICH, "`enrich` and `include_codec_tag` cannot be used together");
        }
        let Some(words) = given else {
            return Self {
                source: true,
                codec: tagged.unwrap_or(true),
                peer: false,
                names_peer: false,
                is_given: false,
            };
        };
        let has = |word: &str| words.iter().any(|given| given == word);
        let alone = |word: &str| has(word) && words.len() == 1;
        let known = |word: &String| WORDS.contains(&word.as_str());
        if !words.iter().all(known) && !alone("all") && !alone("none") {
            let message = format!(
                "`enrich` takes {}, or one of `all` and `none` alone; got {}",
                WORDS.map(|word| format!("`{word}`")).join(", "),
                words.join(", ")
            );
            options.invalid(ENRICH, message);
        }
        let all = alone("all");
        Self {
            source: all || has("source_metadata"),
            codec: all || has("codec_metadata"),
            peer: all || has("ssl_peer_metadata"),
            names_peer: has("ssl_peer_metadata"),
            is_given: true,
        }
    }
}

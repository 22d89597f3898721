//! `i18n`: letters with accents to plain ones.

use crate::event::{FieldRef, Text, Value};
use crate::plugins::{Filter, FilterBatch, FilterPlugin, Options, Outcome};

/// The plugin.
pub const PLUGIN: FilterPlugin = FilterPlugin { name: "i18n", summary: "Writes texts in ASCII.", build };

/// What stands for the letters from U+00C0 to U+017F, in order; nothing in between.
const LETTERS: &str = "A A A A A A AE C E E E E I I I I D N O O O O O x O U U U U Y Th ss \
    a a a a a a ae c e e e e i i i i d n o o o o o ? o u u u u y th y \
    A a A a A a C c C c C c C c D d D d E e E e E e E e E e G g G g G g G g H h H h I i I i I i I i I i IJ ij J j K k k \
    L l L l L l L l L l N n N n N n 'n NG ng O o O o O o OE oe R r R r R r S s S s S s S s T t T t T t U u U u U u U u \
    U u U u W w Y y Y Z z Z z Z z s";

struct I18n {
    transliterate: Vec<FieldRef>,
    letters: Vec<&'static str>,
}

fn build(options: &mut Options<'_>) -> Box<dyn Filter> {
    let transliterate = options.fields("transliterate").doc("Fields to write in ASCII.").optional().unwrap_or_default();
    Box::new(I18n { transliterate, letters: LETTERS.split_whitespace().collect() })
}

impl Filter for I18n {
    fn filter(&self, batch: &mut FilterBatch<'_>) {
        batch.each(|event| {
            for field in &self.transliterate {
                match event.get_mut(field) {
                    Some(Value::Array(list)) => list.iter_mut().for_each(|value| self.change(value)),
                    Some(value) => self.change(value),
                    None => {}
                }
            }
            Outcome::Matched
        });
    }
}

impl I18n {
    fn change(&self, value: &mut Value) {
        if let Value::String(text) = value
            && !text.is_ascii()
        {
            let mut out = String::with_capacity(text.len());
            text.chars().for_each(|c| self.push(c, &mut out));
            *text = Text::from(out);
        }
    }

    fn push(&self, c: char, out: &mut String) {
        match u32::from(c) {
            0..0x80 => out.push(c),
            // The capital sharp s is the only one from elsewhere.
            0x1E9E => out.push_str("SS"),
            code => {
                let place = code.checked_sub(0xC0).and_then(|place| usize::try_from(place).ok());
                out.push_str(place.and_then(|place| self.letters.get(place)).unwrap_or(&"?"));
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::plugins::testing::filtered;

    #[test]
    fn accents_go_and_what_has_no_form_is_a_question_mark() {
        let config = r#"filter { i18n { transliterate => ["m", "l"] add_tag => ["t"] } }"#;
        assert_eq!(
            filtered(config, &[r#"{"m":"Ærøskøbing ñ 漢 ß÷ſ","l":["Łódź",5,"Straße"],"n":"é"}"#]),
            [r#"{"m":"AEroskobing n ? ss?s","l":["Lodz",5,"Strasse"],"n":"é","tags":["t"]}"#]
        );
    }

    #[test]
    fn the_table_has_a_form_for_each_letter() {
        let letters: Vec<_> = LETTERS.split_whitespace().collect();
        assert_eq!(letters.len(), 0x180 - 0xC0);
        for (letter, form) in [('ÿ', "y"), ('Đ', "D"), ('ĸ', "k"), ('ŋ', "ng"), ('œ', "oe"), ('Ŵ', "W"), ('ž', "z")]
        {
            assert_eq!(letters[usize::try_from(u32::from(letter) - 0xC0).unwrap()], form, "{letter}");
        }
    }
}

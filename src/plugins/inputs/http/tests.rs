use crate::plugins::testing::compiled;

#[test]
fn options_that_are_wrong() {
    for (options, words) in [
        ("ssl => true", "is obsolete"),
        ("ssl_enabled => true", "needs `ssl_certificate`"),
        ("response_code => 500", "expected one of 200"),
        ("additional_codecs => { \"a/b\" => \"nope\" }", "no codec named `nope`"),
        ("additional_codecs => { \"a/b\" => \"dots\" }", "cannot read events"),
        ("response_headers => { \"a b\" => \"c\" }", "not a legal header"),
        ("threads => 0", "at least 1"),
        ("max_content_length => 0", "positive number of bytes"),
        ("ssl_client_authentication => whatever", "expected one of none"),
    ] {
        let error = compiled(&format!("input {{ http {{ {options} }} }} output {{ null {{ }} }}")).err().unwrap();
        assert!(error.contains(words), "{options}: {error}");
    }
}

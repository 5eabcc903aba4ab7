//! The spaces between the values of JSON: none, as it is sent, or lines and indents, as people read it.

use super::RawJson;

/// Returns `json` without a space or a line break between its values.
pub fn compact(json: &RawJson) -> RawJson {
    let mut out = Vec::with_capacity(json.as_bytes().len());
    for token in Tokens(json.as_bytes()) {
        out.extend_from_slice(token);
    }
    RawJson::from_written(out)
}

/// Returns `json` with each member and element on a line of its own, indented by two; the order stays.
pub fn pretty(json: &RawJson) -> String {
    let mut out = Vec::with_capacity(json.as_bytes().len() * 2);
    let mut depth = 0;
    let mut tokens = Tokens(json.as_bytes()).peekable();
    while let Some(token) = tokens.next() {
        match token {
            b"{" | b"[" => {
                out.extend_from_slice(token);
                if let Some(close) = tokens.next_if(|next| matches!(*next, b"}" | b"]")) {
                    out.extend_from_slice(close);
                } else {
                    depth += 1;
                    break_line(&mut out, depth);
                }
            }
            b"}" | b"]" => {
                depth -= 1;
                break_line(&mut out, depth);
                out.extend_from_slice(token);
            }
            b"," => {
                out.extend_from_slice(token);
                break_line(&mut out, depth);
            }
            b":" => out.extend_from_slice(b": "),
            value => out.extend_from_slice(value),
        }
    }
    String::from_utf8(out).unwrap_or_default()
}

fn break_line(out: &mut Vec<u8>, depth: usize) {
    out.push(b'\n');
    out.extend(std::iter::repeat_n(*b"  ", depth).flatten());
}

/// The strings, the other values and the signs of valid JSON, without the spaces between them.
struct Tokens<'a>(&'a [u8]);

impl<'a> Iterator for Tokens<'a> {
    type Item = &'a [u8];

    fn next(&mut self) -> Option<&'a [u8]> {
        self.0 = self.0.trim_ascii_start();
        let length = match self.0.first()? {
            b'"' => string_length(self.0),
            b'{' | b'}' | b'[' | b']' | b',' | b':' => 1,
            _ => {
                let ends = |byte: &u8| byte.is_ascii_whitespace() || matches!(byte, b'}' | b']' | b',');
                self.0.iter().position(ends).unwrap_or(self.0.len())
            }
        };
        let (token, rest) = self.0.split_at(length);
        self.0 = rest;
        Some(token)
    }
}

fn string_length(bytes: &[u8]) -> usize {
    let mut is_escaped = false;
    for (place, byte) in bytes.iter().enumerate().skip(1) {
        match byte {
            b'"' if !is_escaped => return place + 1,
            b'\\' => is_escaped = !is_escaped,
            _ => is_escaped = false,
        }
    }
    bytes.len()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_are_broken_between_members_and_never_within_a_string() {
        let json = RawJson::parse(r#"{ "a" : [ ], "b":{"c":[1, "x,\"}{"]},"d":"\\" , "é" : null}"#).unwrap();
        let expected = r#"{
  "a": [],
  "b": {
    "c": [
      1,
      "x,\"}{"
    ]
  },
  "d": "\\",
  "é": null
}"#;
        assert_eq!(pretty(&json), expected);
        assert_eq!(pretty(&RawJson::parse("\"a: b\"").unwrap()), "\"a: b\"");
    }

    #[test]
    fn spaces_are_left_out_between_values_and_stay_in_strings() {
        let spaced = RawJson::parse("{ \"a\" :\t[ 1 ,\n-2.5e3, true ], \"b c\\\"\" : \" \\\\\" }").unwrap();
        assert_eq!(compact(&spaced).to_string(), r#"{"a":[1,-2.5e3,true],"b c\"":" \\"}"#);
        assert_eq!(compact(&RawJson::parse(pretty(&spaced)).unwrap()), compact(&spaced));
    }
}

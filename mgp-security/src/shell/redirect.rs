//! The parser of redirections and of the bodies of here-documents.

use super::parser::{Flaw, Parser};
use super::syntax::{Direction, Part, Redirect, Word};

/// The redirection operators, the longest first, since the first one that matches is taken.
const REDIRECTS: [(&str, Direction); 13] = [
    ("<<<", Direction::Text),
    ("<<", Direction::Document),
    ("&>>", Direction::Out),
    ("&>", Direction::Out),
    (">>", Direction::Out),
    (">|", Direction::Out),
    (">&", Direction::Duplicate),
    ("<&", Direction::Duplicate),
    ("<>", Direction::Both),
    ("<(", Direction::In),
    (">(", Direction::Out),
    ("<", Direction::In),
    (">", Direction::Out),
];

impl Parser<'_> {
    pub(super) fn redirect(&mut self) -> Option<Redirect> {
        let start = self.at;
        let rest = self.rest();
        let digits = rest.len() - rest.trim_start_matches(|c: char| c.is_ascii_digit()).len();
        let named = rest.strip_prefix('{').and_then(|inner| inner.find('}')).map_or(0, |end| end + 2);
        let descriptor = if rest[digits..].starts_with(['<', '>']) { digits } else { named };
        let sign = rest.get(descriptor..)?;
        let &(text, direction) = REDIRECTS.iter().find(|(text, _)| sign.starts_with(text))?;
        if sign.starts_with("<(") || sign.starts_with(">(") || (descriptor > 0 && sign.starts_with('&')) {
            return None;
        }
        self.at += descriptor + text.len();
        if sign.starts_with("<<") && !sign.starts_with("<<<") {
            let target = self.here_document();
            return Some(Redirect { direction, target, span: self.span(start, self.at) });
        }
        self.blanks();
        let before = self.at;
        let target = self.word();
        if self.at == before {
            self.flawed(Flaw::Grammar);
        }
        let direction = match (direction, target.parts.as_slice()) {
            (Direction::Duplicate, [Part::Bare(text)])
                if text == "-" || text.trim_end_matches('-').bytes().all(|b| b.is_ascii_digit()) =>
            {
                Direction::Duplicate
            }
            // `>&file` writes to a file; `<&$fd` may read from anything.
            (Direction::Duplicate, _) if sign.starts_with('>') => Direction::Out,
            (Direction::Duplicate, _) => Direction::In,
            (direction, _) => direction,
        };
        Some(Redirect { direction, target, span: self.span(start, self.at) })
    }

    /// Reads the delimiter of a here-document, which stands here, and its body, which begins after the line; returns
    /// the body.
    fn here_document(&mut self) -> Word {
        let tabs = self.take("-");
        self.blanks();
        let delimiter = self.word();
        let quoted = delimiter.parts.iter().any(|part| !matches!(part, Part::Bare(_)));
        let end_line = delimiter.text().unwrap_or_else(|| {
            self.flawed(Flaw::Open);
            String::new()
        });
        let (line_end, start) = match self.heredoc {
            Some(pending) => pending,
            None => match self.rest().find('\n') {
                Some(offset) => (self.at + offset, self.at + offset + 1),
                None => return Word::default(),
            },
        };
        let mut at = start;
        let mut body_end = self.text.len();
        let mut resume = self.text.len();
        for line in self.text[start..].split_inclusive('\n') {
            let bare = line.trim_end_matches('\n');
            if (if tabs { bare.trim_start_matches('\t') } else { bare }) == end_line {
                body_end = at;
                resume = at + line.len();
                break;
            }
            at += line.len();
        }
        self.heredoc = Some((line_end, resume));
        let part = if quoted {
            Part::Single(self.text[start..body_end].to_owned())
        } else {
            Part::Double(self.substituted(start, body_end))
        };
        if !matches!(&part, Part::Double(inner) if inner.iter().any(|part| !matches!(part, Part::Bare(_)))) {
            self.note_text(start, body_end);
        }
        Word { parts: vec![part], span: self.span(start, body_end) }
    }
}

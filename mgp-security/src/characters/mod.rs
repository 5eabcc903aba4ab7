//! The check for invisible, reordering and control characters in text.

mod script;

use crate::Finding;

/// Refuses characters that a person who reads the text would not see, or would see in another order: control
/// characters, bidirectional controls, tags, annotations, and code points that have a meaning only in a single program.
/// Joiners, selectors and spaces without width are refused where they have no effect on the script around them.
///
/// The characters that writing needs pass: joiners inside Arabic and Indic words and emoji, selectors behind the
/// characters they apply to, directional marks beside letters that run from right to left, the three regional flags,
/// and a byte order mark at the very beginning.
///
/// Printable ASCII is checked in one pass over the bytes. The check never allocates.
pub(crate) fn check(text: &str) -> Result<(), Finding> {
    misplaced(text).next().map_or(Ok(()), |(_, character, class)| Err(class.finding(character)))
}

/// Returns the characters that have no use where they stand, each with its place in bytes and its class.
pub(crate) fn misplaced(text: &str) -> impl Iterator<Item = (usize, char, CharacterClass)> + '_ {
    let mut next = text.bytes().position(|byte| !plain(byte)).unwrap_or(text.len());
    let mut before = text[..next].chars().next_back();
    std::iter::from_fn(move || {
        while let Some(here) = text[next..].chars().next() {
            let at = next;
            next += here.len_utf8();
            let after = text[next..].chars();
            let around = CharacterContext { before: before.replace(here), after, start: at == 0 };
            if here == BLACK_FLAG {
                // The tags behind it are skipped if they spell one of the three flags that exist. Any other sequence of
                // tags is an invisible text.
                let flag = FLAGS.into_iter().find(|flag| text[next..].starts_with(*flag));
                next += flag.map_or(0, str::len);
            }
            if let Some(class) = CharacterClass::of(here).filter(|_| !around.have_use_for(here)) {
                return Some((at, here, class));
            }
        }
        None
    })
}

/// Returns whether the byte is printable ASCII, or one of the three controls that lay out text.
fn plain(byte: u8) -> bool {
    matches!(byte, b' '..=b'~' | b'\t' | b'\n' | b'\r')
}

/// The neighbours of a character.
struct CharacterContext<'a> {
    before: Option<char>,
    after: std::str::Chars<'a>,
    start: bool,
}

impl CharacterContext<'_> {
    /// Returns whether a character, which is refused elsewhere, has its intended effect in this place.
    fn have_use_for(&self, here: char) -> bool {
        let (before, after) = (self.before, self.after());
        match here {
            // A directional mark.
            '\u{200e}' | '\u{200f}' | '\u{61c}' => self.either(script::is_right_to_left),
            // A joiner may end a word after a virama, to show a half form.
            '\u{200d}' => {
                before.is_some_and(script::joins_letters)
                    || (before.is_some_and(|it| script::is_emoji(it) || it == '\u{fe0f}')
                        && after.is_some_and(script::is_emoji))
            }
            // A joiner that parts letters, and the mark of a break between words.
            '\u{200c}' => self.both(script::joins_letters),
            '\u{200b}' => self.both(script::is_written_without_spaces),
            // The byte order mark.
            '\u{feff}' => self.start,
            // The selectors, those of ideographs, and those of Mongolian.
            '\u{fe00}'..='\u{fe0f}' => before.is_some_and(|base| script::takes_selector(base, here, after)),
            '\u{e0100}'..='\u{e01ef}' => before.is_some_and(script::is_ideograph),
            '\u{180b}'..='\u{180d}' | '\u{180f}' => {
                before.is_some_and(|it| ('\u{1820}'..='\u{18aa}').contains(&it))
            }
            // A pattern of Braille with dots; the blank pattern does not count.
            '\u{2800}' => self.either(|it| ('\u{2801}'..='\u{28ff}').contains(&it)),
            // The tags behind the flag that they belong to are skipped together with it, so a tag that is met here
            // belongs to none.
            _ => false,
        }
    }

    fn after(&self) -> Option<char> {
        self.after.clone().next()
    }

    fn either(&self, is: fn(char) -> bool) -> bool {
        self.before.is_some_and(is) || self.after().is_some_and(is)
    }

    fn both(&self, is: fn(char) -> bool) -> bool {
        self.before.is_some_and(is) && self.after().is_some_and(is)
    }
}

/// The class of a character that is refused unless its neighbours have a use for it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum CharacterClass {
    Control,
    Direction,
    Tag,
    Selector,
    Invisible,
    Separator,
    Annotation,
    Private,
    Nothing,
}

impl CharacterClass {
    pub(crate) fn of(character: char) -> Option<Self> {
        Some(match character {
            '\t' | '\n' | '\r' => return None,
            '\0'..='\u{1f}' | '\u{7f}'..='\u{9f}' => Self::Control,
            '\u{200e}' | '\u{200f}' | '\u{61c}' | '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}' => {
                Self::Direction
            }
            '\u{e0000}'..='\u{e007f}' => Self::Tag,
            '\u{fe00}'..='\u{fe0f}' | '\u{e0100}'..='\u{e01ef}' | '\u{180b}'..='\u{180d}' | '\u{180f}' => {
                Self::Selector
            }
            // A soft hyphen belongs here as well: programs see it as splitting a word, but readers do not.
            '\u{ad}'
            | '\u{34f}'
            | '\u{115f}'..='\u{1160}'
            | '\u{17b4}'..='\u{17b5}'
            | '\u{180e}'
            | '\u{200b}'..='\u{200d}'
            | '\u{2060}'..='\u{2065}'
            | '\u{206a}'..='\u{206f}'
            | '\u{2800}'
            | '\u{3164}'
            | '\u{feff}'
            | '\u{ffa0}'
            | '\u{fff0}'..='\u{fff8}'
            | '\u{1bca0}'..='\u{1bca3}'
            | '\u{1d173}'..='\u{1d17a}'
            | '\u{e0080}'..='\u{e00ff}'
            | '\u{e01f0}'..='\u{e0fff}' => Self::Invisible,
            '\u{2028}' | '\u{2029}' => Self::Separator,
            '\u{fff9}'..='\u{fffb}' => Self::Annotation,
            '\u{e000}'..='\u{f8ff}' => Self::Private,
            other if script::is_noncharacter(other) => Self::Nothing,
            '\u{f0000}'.. => Self::Private,
            _ => return None,
        })
    }

    fn finding(self, character: char) -> Finding {
        let (rule, what) = match self {
            Self::Control => ("control-character", "a control character: write it as text, or leave it out"),
            Self::Direction => {
                ("bidirectional-control", "a character that changes the order of reading: leave it out")
            }
            Self::Tag => ("tag-character", "a tag character, which nobody can see: leave it out"),
            Self::Selector => {
                ("variation-selector", "a variation selector that selects nothing: leave it out")
            }
            Self::Separator => ("line-separator", "a separator of lines or paragraphs: use a line feed"),
            Self::Annotation => ("annotation-character", "an annotation that is not shown: leave it out"),
            Self::Private => {
                ("private-character", "a private-use character: use one with a meaning of its own")
            }
            Self::Nothing => ("noncharacter", "a code point that is no character: leave it out"),
            Self::Invisible => ("invisible-character", "a character that cannot be seen: leave it out"),
        };
        Finding::new(rule, format!("the text contains U+{:04X}, {what}", u32::from(character)))
    }
}

const BLACK_FLAG: char = '\u{1f3f4}';

/// The flags of England, Scotland and Wales in tags, each ended by the cancelling tag.
const FLAGS: [&str; 3] = [
    "\u{e0067}\u{e0062}\u{e0065}\u{e006e}\u{e0067}\u{e007f}",
    "\u{e0067}\u{e0062}\u{e0073}\u{e0063}\u{e0074}\u{e007f}",
    "\u{e0067}\u{e0062}\u{e0077}\u{e006c}\u{e0073}\u{e007f}",
];

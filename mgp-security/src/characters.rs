//! The check for invisible, reordering and control characters in text.

use std::ops::RangeInclusive;
use std::sync::LazyLock;

use crate::Finding;

/// Refuses characters that a person who reads the text would not see, or would see in another order: control
/// characters, bidirectional controls, tags, annotations, and code points that have a meaning only in a single program.
/// Joiners, selectors and spaces without width are refused where they have no effect on the script around them.
///
/// The characters that writing needs pass: joiners inside Arabic and Indic words and emoji, selectors behind the
/// characters they apply to, directional marks beside letters that run from right to left, the three regional flags,
/// and a byte order mark at the very beginning.
///
/// Printable ASCII is checked in one pass over the bytes. The table of characters is read once; the check allocates nothing.
pub(crate) fn check(text: &str) -> Result<(), Finding> {
    misplaced(text).next().map_or(Ok(()), |(_, character, class)| Err(class.finding(character)))
}

/// Returns the characters that have no use where they stand, each with its place in bytes and its class.
pub(crate) fn misplaced(text: &str) -> impl Iterator<Item = (usize, char, &'static CharacterClass)> + '_ {
    let mut next = text.bytes().position(|byte| !plain(byte)).unwrap_or(text.len());
    let mut last = text[..next].chars().next_back();
    std::iter::from_fn(move || {
        while let Some(here) = text[next..].chars().next() {
            let at = next;
            next += here.len_utf8();
            let (before, after) = (last.replace(here), text[next..].chars().next());
            if here == BLACK_FLAG {
                // The tags behind it are skipped if they spell one of the three flags that exist. Any other sequence of
                // tags is an invisible text.
                let flag = FLAGS.into_iter().find(|flag| text[next..].starts_with(*flag));
                next += flag.map_or(0, str::len);
            }
            if let Some(class) = CharacterClass::of(here).filter(|_| !has_use(here, before, after)) {
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

/// Returns whether a character, which is refused elsewhere, has its intended effect between these two.
fn has_use(here: char, before: Option<char>, after: Option<char>) -> bool {
    match here {
        // A directional mark.
        '\u{200e}' | '\u{200f}' | '\u{61c}' => is(before, "right-to-left") || is(after, "right-to-left"),
        // A joiner may end a word after a virama, to show a half form.
        '\u{200d}' => {
            is(before, "joining")
                || ((is(before, "emoji") || before == Some('\u{fe0f}')) && is(after, "emoji"))
        }
        // A joiner that parts letters, and the mark of a break between words.
        '\u{200c}' => is(before, "joining") && is(after, "joining"),
        '\u{200b}' => is(before, "unspaced") && is(after, "unspaced"),
        // The byte order mark.
        '\u{feff}' => before.is_none(),
        // The text or emoji presentation; a digit is an emoji only together with a keycap.
        '\u{fe0e}' | '\u{fe0f}' => match before {
            Some('0'..='9' | '#' | '*') => after == Some('\u{20e3}') || here == '\u{fe0e}',
            _ => is(before, "emoji"),
        },
        // The other selectors, those of ideographs, and those of Mongolian.
        '\u{fe00}'..='\u{fe02}' => is(before, "varied"),
        '\u{e0100}'..='\u{e01ef}' => is(before, "ideograph"),
        '\u{180b}'..='\u{180d}' | '\u{180f}' => is(before, "mongolian"),
        // A blank pattern of Braille.
        '\u{2800}' => is(before, "braille") || is(after, "braille"),
        // The tags behind the flag that they belong to are skipped together with it, so a tag that is met here
        // belongs to none.
        _ => false,
    }
}

/// Returns whether a neighbour belongs to the class that is called `class`.
fn is(neighbour: Option<char>, class: &str) -> bool {
    neighbour.is_some_and(|it| CLASSES.iter().any(|known| known.name == class && known.has(it)))
}

/// A class of characters, as `characters.txt` has it.
#[derive(Debug)]
pub(crate) struct CharacterClass {
    pub(crate) name: &'static str,
    /// The thing that is refused, and what to do instead; empty for a class that is not refused.
    advice: &'static str,
    ranges: Vec<RangeInclusive<char>>,
}

impl CharacterClass {
    /// Returns the class of a character that is refused unless its neighbours have a use for it.
    pub(crate) fn of(character: char) -> Option<&'static Self> {
        if u8::try_from(character).is_ok_and(plain) || !BLOCKS[u32::from(character) as usize / BLOCK] {
            return None;
        }
        CLASSES.iter().find(|class| !class.advice.is_empty() && class.has(character))
    }

    /// Reads a row; returns `None` if it is none, such as a comment.
    fn read(row: &'static str) -> Option<Self> {
        let (name, rest) = row.split_once(" | ")?;
        let (advice, ranges) = rest.split_once(" | ")?;
        let character = |text: &str| char::from_u32(u32::from_str_radix(text, 16).ok()?);
        let range = |text: &str| {
            let (first, last) = text.split_once('-').unwrap_or((text, text));
            Some(character(first)?..=character(last)?)
        };
        Some(Self { name, advice, ranges: ranges.split(' ').map(range).collect::<Option<_>>()? })
    }

    fn has(&self, character: char) -> bool {
        self.ranges.iter().any(|range| range.contains(&character))
    }

    fn finding(&self, character: char) -> Finding {
        let number = u32::from(character);
        Finding::new(self.name, format!("the text contains U+{number:04X}, {}", self.advice))
    }
}

static CLASSES: LazyLock<Vec<CharacterClass>> =
    LazyLock::new(|| include_str!("characters.txt").lines().filter_map(CharacterClass::read).collect());

/// The blocks of characters in which some may be refused, so that most characters are not looked up.
static BLOCKS: LazyLock<Vec<bool>> = LazyLock::new(|| {
    let mut blocks = vec![false; 0x11_0000 / BLOCK];
    let block = |character: &char| u32::from(*character) as usize / BLOCK;
    for range in CLASSES.iter().filter(|class| !class.advice.is_empty()).flat_map(|class| &class.ranges) {
        blocks[block(range.start())..=block(range.end())].fill(true);
    }
    blocks
});

/// The number of characters in a block.
const BLOCK: usize = 16;

const BLACK_FLAG: char = '\u{1f3f4}';

/// The flags of England, Scotland and Wales in tags, each ended by the cancelling tag.
const FLAGS: [&str; 3] = [
    "\u{e0067}\u{e0062}\u{e0065}\u{e006e}\u{e0067}\u{e007f}",
    "\u{e0067}\u{e0062}\u{e0073}\u{e0063}\u{e0074}\u{e007f}",
    "\u{e0067}\u{e0062}\u{e0077}\u{e006c}\u{e0073}\u{e007f}",
];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_row_of_the_table_is_read() {
        let rows = include_str!("characters.txt").lines().filter(|row| !row.starts_with('#'));
        assert_eq!(rows.count(), CLASSES.len());
    }
}

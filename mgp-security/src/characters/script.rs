//! The writing systems in which invisible characters have a use. The ranges are blocks, not scripts: a range that is a
//! little too wide only allows a joiner where it has no effect.

/// Returns whether joiners affect the shape of this character: cursive and Indic letters and their marks.
pub(super) fn joins_letters(character: char) -> bool {
    matches!(character,
        '\u{620}'..='\u{74f}'      // Arabic letters and marks, Syriac
        | '\u{750}'..='\u{77f}'
        | '\u{7c0}'..='\u{8ff}'    // N'Ko, Mandaic, Syriac and Arabic supplements
        | '\u{900}'..='\u{df3}'    // Devanagari to Sinhala
        | '\u{f00}'..='\u{109f}'   // Tibetan, Myanmar
        | '\u{1780}'..='\u{17b3}' | '\u{17b6}'..='\u{17ff}'  // Khmer without its invisible vowels
        | '\u{1820}'..='\u{18aa}'  // Mongolian
        | '\u{1900}'..='\u{1b7f}'  // Limbu to Balinese
        | '\u{a840}'..='\u{a8ff}'  // Phags-pa, Saurashtra, extended Devanagari
        | '\u{a980}'..='\u{aa7f}'  // Javanese, extended Myanmar
        | '\u{fb50}'..='\u{fdcf}' | '\u{fdf0}'..='\u{fdff}' | '\u{fe70}'..='\u{fefc}'  // Arabic forms
        | '\u{10d00}'..='\u{10d3f}'  // Hanifi Rohingya
        | '\u{11000}'..='\u{11dff}'  // Brahmi and its descendants
        | '\u{1e900}'..='\u{1e95f}') // Adlam
}

/// Returns whether the character is written from right to left.
pub(super) fn is_right_to_left(character: char) -> bool {
    matches!(character,
        '\u{590}'..='\u{61b}' | '\u{61d}'..='\u{8ff}' | '\u{fb1d}'..='\u{fdcf}' | '\u{fdf0}'..='\u{fdff}'
        | '\u{fe70}'..='\u{fefc}' | '\u{10800}'..='\u{10fff}' | '\u{1e800}'..='\u{1efff}')
}

/// Returns whether words in the script of the character follow one another without spaces, so that breaks have to be
/// marked.
pub(super) fn is_written_without_spaces(character: char) -> bool {
    matches!(character,
        '\u{e00}'..='\u{109f}' | '\u{1780}'..='\u{17b3}' | '\u{17b6}'..='\u{17ff}' | '\u{1950}'..='\u{1aaf}'
        | '\u{a9e0}'..='\u{a9ff}' | '\u{aa60}'..='\u{aadf}' | '\u{3040}'..='\u{30ff}')
        || is_ideograph(character)
}

pub(super) fn is_ideograph(character: char) -> bool {
    matches!(character,
        '\u{3005}'..='\u{3007}' | '\u{3400}'..='\u{4dbf}' | '\u{4e00}'..='\u{9fff}' | '\u{f900}'..='\u{faff}'
        | '\u{20000}'..='\u{323af}')
}

/// Returns whether the character is an emoji that may follow a joiner.
pub(super) fn is_emoji(character: char) -> bool {
    matches!(character, '\u{1f000}'..='\u{1faff}') || is_symbol(character)
}

/// Returns whether `selector` selects a variant of `base`.
pub(super) fn takes_selector(base: char, selector: char, after: Option<char>) -> bool {
    match selector {
        // The text or emoji presentation; a digit is an emoji only together with a keycap.
        '\u{fe0e}' | '\u{fe0f}' => match base {
            '0'..='9' | '#' | '*' => after == Some('\u{20e3}') || selector == '\u{fe0e}',
            _ => is_emoji(base),
        },
        '\u{fe00}'..='\u{fe02}' => {
            is_ideograph(base)
                || matches!(base,
                    '0' | '\u{1000}'..='\u{109f}' | '\u{2190}'..='\u{22ff}' | '\u{2a00}'..='\u{2aff}'
                    | '\u{3001}'..='\u{3002}' | '\u{a840}'..='\u{a87f}' | '\u{aa60}'..='\u{aa7f}'
                    | '\u{ff01}'..='\u{ff1f}')
        }
        _ => false,
    }
}

pub(super) fn is_noncharacter(character: char) -> bool {
    matches!(character, '\u{fdd0}'..='\u{fdef}') || u32::from(character) & 0xfffe == 0xfffe
}

/// Returns whether the character is a symbol that can be shown as an emoji.
fn is_symbol(character: char) -> bool {
    matches!(character,
        '\u{a9}' | '\u{ae}' | '\u{203c}' | '\u{2049}' | '\u{2100}'..='\u{21ff}' | '\u{2300}'..='\u{23ff}'
        | '\u{2460}'..='\u{24ff}' | '\u{25a0}'..='\u{27bf}' | '\u{2900}'..='\u{297f}' | '\u{2b00}'..='\u{2bff}'
        | '\u{3030}' | '\u{303d}' | '\u{3297}' | '\u{3299}')
}

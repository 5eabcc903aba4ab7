//! Words without a meaning of their own. The English ones are data, `function_words.txt`.

use std::collections::HashSet;
use std::sync::LazyLock;

use foldhash::fast::RandomState;

static ENGLISH: LazyLock<HashSet<&str, RandomState>> = LazyLock::new(|| {
    let lines = include_str!("function_words.txt").lines().filter(|line| !line.starts_with('#'));
    lines.flat_map(|line| line.split(' ')).collect()
});

/// Returns whether a word, in lower case, tells nothing about the use of a tool.
pub(super) fn is_function_word(word: &str) -> bool {
    ENGLISH.contains(word)
}

const PARTICLES: [char; 17] =
    ['的', '了', '吗', '呢', '吧', '请', '我', '你', '您', '们', '這', '这', '是', '在', '嗎', '請', '們'];

/// Returns whether a Chinese character stands between words, or in words without a meaning of their own.
pub(super) fn is_particle(c: char) -> bool {
    PARTICLES.contains(&c)
}

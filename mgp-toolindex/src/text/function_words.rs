//! Words without a meaning of their own.

/// The English function words, in order for a binary search.
const ENGLISH: &[&str] = &[
    "a", "about", "after", "again", "all", "also", "am", "an", "and", "any", "are", "arent", "as", "at",
    "be", "because", "been", "before", "being", "both", "but", "by", "can", "cannot", "cant", "could", "did",
    "didnt", "do", "does", "doesnt", "doing", "dont", "during", "each", "either", "etc", "few", "for",
    "from", "further", "had", "has", "have", "having", "he", "her", "here", "hers", "him", "his", "how", "i",
    "id", "if", "ill", "im", "in", "into", "is", "isnt", "it", "its", "itself", "ive", "just", "let", "lets",
    "may", "me", "might", "more", "most", "must", "my", "myself", "need", "needs", "no", "nor", "not", "of",
    "off", "on", "once", "only", "or", "other", "our", "ours", "out", "over", "own", "please", "same", "she",
    "should", "so", "some", "such", "than", "thanks", "that", "thats", "the", "their", "theirs", "them",
    "themselves", "then", "there", "these", "they", "this", "those", "through", "to", "too", "under",
    "until", "up", "us", "use", "used", "uses", "using", "very", "via", "want", "wants", "was", "we", "were",
    "what", "whats", "when", "where", "whether", "which", "while", "who", "whom", "whose", "why", "will",
    "with", "within", "without", "would", "you", "your", "yours", "yourself",
];

const LONGEST: usize = 10;

/// Returns whether a word, in lower case, tells nothing about the use of a tool.
pub(super) fn is_function_word(word: &str) -> bool {
    word.len() <= LONGEST && ENGLISH.binary_search(&word).is_ok()
}

/// Returns whether a Chinese character stands between words, or in words without a meaning of their own.
pub(super) const fn is_particle(c: char) -> bool {
    matches!(
        c,
        '的' | '了'
            | '吗'
            | '呢'
            | '吧'
            | '请'
            | '我'
            | '你'
            | '您'
            | '们'
            | '這'
            | '这'
            | '是'
            | '在'
            | '嗎'
            | '請'
            | '們'
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_list_is_in_order_and_its_words_are_found() {
        assert!(ENGLISH.is_sorted());
        assert!(ENGLISH.iter().all(|word| is_function_word(word)));
        assert!(!is_function_word("file"));
    }
}

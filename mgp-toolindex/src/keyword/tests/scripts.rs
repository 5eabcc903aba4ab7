//! Tests of scripts other than Latin.

use super::{best, index, tool};

#[test]
fn korean_and_thai_questions_find_their_tools() {
    let tools = [
        tool("weather", "도시의 날씨를 조회합니다"),
        tool("file", "파일을 읽습니다"),
        tool("hotel", "ค้นหาโรงแรมในเมือง"),
        tool("translate", "แปลข้อความเป็นภาษาอื่น"),
    ];
    let (_writer, reader) = index(&tools);
    for (text, expected) in [
        ("내일 서울 날씨 알려줘", 0),
        ("이 파일 열어줘", 1),
        ("อยากจองโรงแรมที่เชียงใหม่", 2),
        ("ช่วยแปลประโยคนี้", 3),
    ] {
        assert_eq!(best(&reader, text)[0], expected, "{text}");
    }
}

#[test]
fn other_languages_are_found_with_and_without_accents() {
    let tools = [
        tool("suivi", "Donne l'état d'un colis à l'étranger"),
        tool("wetter", "Größe und Straßenwetter abfragen"),
        tool("pogoda", "Прогноз погоды для города"),
        tool("salam", "ترجمة النصوص إلى لغة أخرى"),
        tool("hindi", "शहर का मौसम बताता है"),
    ];
    let (_writer, reader) = index(&tools);
    for (text, expected) in [
        ("etat du colis a l'etranger", 0),
        ("strassenwetter", 1),
        ("ПРОГНОЗ на завтра", 2),
        ("تَرجَمة", 3),
        ("मौसम", 4),
    ] {
        assert_eq!(best(&reader, text)[0], expected, "{text}");
    }
}

#[test]
fn tools_in_another_language_do_not_push_aside_those_of_the_question() {
    let (_writer, reader) = index(&[
        tool("read_file", "Reads the contents of a file"),
        tool("read_file_ja", "ファイルの内容を読み取ります"),
        tool("translate", "翻訳します"),
    ]);
    assert_eq!(best(&reader, "ファイルを読み取りたいです")[0], 1);
    assert_eq!(best(&reader, "reads the contents")[0], 0);
}

//! Tests of scripts other than Latin.

use super::{best, index, tool};

#[test]
fn japanese_questions_find_japanese_tools() {
    let tools = [
        tool("read_file", "指定されたパスのファイルの内容を読み取ります。"),
        tool("weather", "都市の天気予報を取得します。気温と降水確率を返します。"),
        tool("translate", "テキストを別の言語に翻訳します。"),
        tool("send_mail", "メールを送信します。宛先と件名を指定します。"),
        tool("search_web", "ウェブを検索して、結果の一覧を返します。"),
        tool("image", "画像を生成します。"),
        tool("calendar", "予定表に予定を追加します。"),
    ];
    let (_writer, reader) = index(&tools);
    for (text, expected) in [
        ("このファイルの中身を見せて", 0),
        ("明日の東京の天気を教えてください", 1),
        ("この文章を英語に翻訳して", 2),
        ("部長にメールを送ってください", 3),
        ("ウェブで検索する", 4),
        ("猫の画像を作って", 5),
        ("来週の予定を追加したい", 6),
        ("ﾌｧｲﾙを読む", 0),
    ] {
        assert_eq!(best(&reader, text)[0], expected, "{text}");
    }
}

#[test]
fn chinese_questions_find_chinese_tools() {
    let tools = [
        tool("bing_search", "使用必应搜索指定的关键词，并返回搜索结果列表"),
        tool("get_weather", "查询指定城市的天气预报"),
        tool("get_tickets", "查询火车票余票信息"),
        tool("translate", "把文本翻译成其他语言"),
        tool("read_file", "读取文件的内容"),
        tool("send_message", "发送消息给联系人"),
        tool("map_route", "规划两个地点之间的驾车路线"),
    ];
    let (_writer, reader) = index(&tools);
    for (text, expected) in [
        ("帮我搜索一下最新的新闻", 0),
        ("明天北京的天气怎么样？", 1),
        ("我想买一张去上海的火车票", 2),
        ("请把这段话翻译成英文", 3),
        ("打开这个文件看看内容", 4),
        ("给小王发消息", 5),
        ("从家到公司怎么开车，路线是什么", 6),
    ] {
        assert_eq!(best(&reader, text)[0], expected, "{text}");
    }
}

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

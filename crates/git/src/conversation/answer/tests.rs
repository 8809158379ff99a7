use rstest::rstest;

use super::*;

const ID: &str = "1111111111111111111111111111111111111111";

fn packet(line: &str) -> String {
    format!("{:04x}{line}", line.len() + 4)
}

fn read(text: &str, is_cut: bool) -> Result<(Answer, Vec<u8>), Error> {
    let mut pack = Vec::new();
    let answer = Answer::read(text.as_bytes(), is_cut, |bytes| {
        pack.extend_from_slice(bytes);
        Ok(())
    })?;
    Ok((answer, pack))
}

#[test]
fn cuts_talk_and_bands() {
    let text = [
        packet(&format!("shallow {ID}\n")),
        packet(&format!("unshallow {ID}")),
        "0000".to_owned(),
        packet(&format!("ACK {ID} common\n")),
        packet("NAK\n"),
        packet("\u{2}counting\n"),
        packet("\u{1}PACK"),
        packet("\u{1}rest"),
        "0000".to_owned(),
    ];
    let (answer, pack) = read(&text.concat(), true).unwrap();
    assert_eq!((answer.shallow.len(), answer.unshallow.len()), (1, 1));
    assert_eq!(pack, b"PACKrest");
}

#[test]
fn a_pack_without_bands() {
    let (_, pack) = read(&format!("{}PACK and the rest", packet("NAK\n")), false).unwrap();
    assert_eq!(pack, b"PACK and the rest");
}

#[rstest]
#[case::nothing("", "broke off")]
#[case::half_a_line("0010ACK", "broke off")]
#[case::no_length("+123", "length cannot be read: '+123'")]
#[case::too_short("0003", "length")]
#[case::too_long("fff1", "length")]
#[case::an_end_without_a_pack("0008NAK\n0000", "no objects")]
#[case::cuts_where_none_were_asked_for("0000", "no objects")]
#[case::a_refusal("0020ERR upload-pack: not our ref", "remote error: upload-pack: not our ref")]
#[case::a_refusal_in_a_band("000a\u{3}die.\0", "unexpected error: die.")]
#[case::another_word("000abonjour", "unexpected: 'bonjou'")]
#[case::a_cut_at_nothing("0010shallow 1234", "unexpected: 'shallow 1234'")]
#[case::a_pack_in_a_pack("0009\u{1}PACKPACK", "unexpected")]
fn refused(#[case] text: &str, #[case] expected: &str) {
    let error = read(text, false).unwrap_err().to_string();
    assert!(error.contains(expected), "{error}");
}

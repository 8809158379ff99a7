use rstest::rstest;

use super::*;

#[rstest]
#[case("0", "0s")]
#[case("1h30m", "1h30m0s")]
#[case("1.5h", "1h30m0s")]
#[case("60m", "1h0m0s")]
#[case("1m", "1m0s")]
#[case("90s", "1m30s")]
#[case("300ms", "300ms")]
#[case("1.5s", "1.5s")]
#[case("176163666ns", "176.163666ms")]
#[case("1us", "1µs")]
#[case("1500ns", "1.5µs")]
#[case(".5s", "500ms")]
#[case("1.s", "1s")]
#[case("+1s", "1s")]
#[case("100h0.25s", "100h0m0.25s")]
#[case("2540400h10m10s", "2540400h10m10s")]
fn reads_and_prints_like_go(#[case] text: &str, #[case] printed: &str) {
    assert_eq!(text.parse::<Duration>().unwrap().to_string(), printed);
}

#[rstest]
#[case("", r#"invalid duration """#)]
#[case("soon", r#"invalid duration "soon""#)]
#[case("-5m", r#"invalid duration "-5m""#)]
#[case(".s", r#"invalid duration ".s""#)]
#[case("5", r#"missing unit in duration "5""#)]
#[case("1d", r#"unknown unit "d" in duration "1d""#)]
#[case("1 m", r#"unknown unit " m" in duration "1 m""#)]
#[case("3000000h", r#"invalid duration "3000000h""#)]
#[case(
    "99999999999999999999999999999999999999999h",
    r#"invalid duration "99999999999999999999999999999999999999999h""#
)]
fn refuses_what_go_refuses(#[case] text: &str, #[case] error: &str) {
    assert_eq!(text.parse::<Duration>().unwrap_err().to_string(), error);
}

proptest::proptest! {
    #[test]
    fn printing_loses_nothing(nanos in 0..=i64::MAX as u64) {
        let duration = Duration::from(std::time::Duration::from_nanos(nanos));
        proptest::prop_assert_eq!(duration.to_string().parse::<Duration>().unwrap(), duration);
    }
}

use rstest::rstest;

use super::*;

const FROM: &str = "main@sha1:1";

fn entries(count: usize, kind: &str) -> Vec<Entry> {
    let entry = |index| Entry { id: format!("n_o{index}_{kind}").parse().unwrap(), version: "v1".to_owned() };
    (0..count).map(entry).collect()
}

fn asked<'a>(inventory: usize, stale: &'a [Entry]) -> Asked<'a> {
    Asked { inventory, stale, from: FROM, limit: None, confirmed: None }
}

const CONFIG_MAP: &str = "_ConfigMap";
const NAMESPACE: &str = "_Namespace";
const CLAIM: &str = "_PersistentVolumeClaim";
const DEFINITION: &str = "apiextensions.k8s.io_CustomResourceDefinition";
const OTHER_NAMESPACE: &str = "example.com_Namespace";

#[rstest]
#[case::no_limit("none", None, 20, 20, NAMESPACE, true)]
#[case::up_to_the_number("3", None, 9, 3, CONFIG_MAP, true)]
#[case::above_the_number("3", None, 9, 4, CONFIG_MAP, false)]
#[case::nothing_at_all("0", None, 9, 1, CONFIG_MAP, false)]
#[case::up_to_the_part("50%", None, 10, 5, CONFIG_MAP, true)]
#[case::above_the_part("50%", None, 10, 6, CONFIG_MAP, false)]
#[case::part_of_a_small_inventory("50%", None, 9, 9, CONFIG_MAP, true)]
#[case::number_of_both("2,50%", None, 9, 3, CONFIG_MAP, false)]
#[case::part_of_both("50, 10%", None, 10, 2, CONFIG_MAP, false)]
#[case::namespace("100%", None, 10, 1, NAMESPACE, false)]
#[case::claim("100%", None, 10, 1, CLAIM, false)]
#[case::definition("100%", None, 10, 1, DEFINITION, false)]
#[case::same_kind_of_another_group("100%", None, 10, 1, OTHER_NAMESPACE, true)]
#[case::annotation_sets_a_limit("none", Some("3"), 9, 4, CONFIG_MAP, false)]
#[case::annotation_lifts_it("3", Some("none"), 9, 9, NAMESPACE, true)]
#[case::annotation_that_is_no_limit("none", Some("few"), 9, 1, CONFIG_MAP, false)]
fn limits(
    #[case] flag: &str,
    #[case] annotation: Option<&str>,
    #[case] inventory: usize,
    #[case] stale: usize,
    #[case] kind: &str,
    #[case] is_allowed: bool,
) {
    let stale = entries(stale, kind);
    let asked = Asked { limit: annotation, ..asked(inventory, &stale) };
    let flag = flag.parse().unwrap();
    assert_eq!(decide(&asked, &flag).is_ok(), is_allowed);
    let token = asked.token();
    assert_eq!(decide(&Asked { confirmed: Some(&token), ..asked }, &flag), Ok(()));
}

#[rstest]
#[case("")]
#[case("x")]
#[case("101%")]
#[case("-1")]
#[case("1,2")]
#[case("50 %")]
fn texts_that_are_no_limits(#[case] text: &str) {
    assert!(text.parse::<PruneLimit>().is_err());
}

#[test]
fn confirmation_holds_for_the_same_objects_out_of_the_same_revision_only() {
    let (one, two) = (entries(1, CONFIG_MAP), entries(2, CONFIG_MAP));
    let confirmed = asked(9, &one).token();
    let again = Asked { from: "main@sha1:3", ..asked(9, &one) };
    let flag = "0".parse().unwrap();
    for other in [asked(9, &two), again] {
        let other = Asked { confirmed: Some(&confirmed), ..other };
        assert!(decide(&other, &flag).is_err());
    }
    let mut turned = entries(2, CONFIG_MAP);
    turned.reverse();
    assert_eq!(asked(9, &turned).token(), asked(9, &two).token());
}

#[test]
fn message_names_what_would_go_and_how_to_allow_it() {
    let stale = entries(22, CONFIG_MAP);
    let asked = asked(30, &stale);
    let message = decide(&asked, &"9,50%".parse().unwrap()).unwrap_err();
    assert!(
        message.starts_with("refused to prune 22 of 30 objects, the limit is 9 or 50%: ConfigMap/n/o0, ")
    );
    let end = format!(
        "ConfigMap/n/o19 and 2 more; annotate the Kustomization with kustomize.weir.dev/confirm-prune={} to allow it once",
        asked.token()
    );
    assert!(message.ends_with(&end), "{message}");
}

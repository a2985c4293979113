//! SARIF against the schema that is published.
#![expect(clippy::too_many_lines, reason = "a test shows all that it expects")]
#![expect(clippy::unwrap_used, reason = "a test that cannot set its files up fails")]

mod support;

use std::fs;
use std::path::Path;

use serde_json::Value;
use snapbox::{assert_data_eq, str};
use support::{Folder, LADDER, RACE, of_each};

#[test]
fn sarif_is_as_its_schema_says() {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/schemas/sarif-2.1.0.json");
    let schema: Value = serde_json::from_str(&fs::read_to_string(path).unwrap()).unwrap();
    let schema = jsonschema::validator_for(&schema).unwrap();
    let check = |folder: &Folder, arguments: &[&str]| -> Value {
        let text = folder.printed(&[&["--output-format", "sarif"], arguments].concat());
        let log = serde_json::from_str(&text).unwrap();
        let errors: Vec<String> = schema
            .iter_errors(&log)
            .map(|error| format!("{}: {error}", error.instance_path()))
            .collect();
        assert!(errors.is_empty(), "{errors:#?}");
        log
    };
    // With nothing, with things that could not be read, and with bytes that are no UTF-8.
    check(&Folder::new("sarif-empty"), &[]);
    let odd = Folder::new("sarif-odd")
        .with(
            "a \u{e9}.hlsl",
            [b"// \xe9\x83\x65\x1b[31m\n", LADDER.as_bytes()].concat(),
        )
        .with("b.hlsl", format!("#include \"gone.hlsli\"\n{RACE}"));
    check(&odd, &[".", "gone.hlsl"]);
    let fixtures = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../fixtures/rules");
    check(
        &Folder(fixtures),
        &["hillis-steele-scan", "groupshared-race", "wave-size-assumption"],
    );

    let mut log = check(&of_each("sarif"), &[]);
    let run = &mut log["runs"][0];
    let rules = run["tool"]["driver"]["rules"].take();
    let of_race = rules
        .as_array()
        .unwrap()
        .iter()
        .find(|rule| rule["id"] == "groupshared-race")
        .unwrap();
    let help = of_race["help"]["markdown"].as_str().unwrap();
    assert!(help.starts_with("# groupshared-race\n"), "{help}");
    assert_eq!(
        of_race["helpUri"],
        "https://github.com/shaderlint/shaderlint/blob/main/docs/rules/groupshared-race.md"
    );
    for result in run["results"].as_array().unwrap() {
        let index = usize::try_from(result["ruleIndex"].as_u64().unwrap()).unwrap();
        assert_eq!(rules[index]["id"], result["ruleId"]);
    }
    // The wave form that stands in for the ladder is in the rules' fixtures.
    let text = &mut run["results"][1]["fixes"][0]["artifactChanges"][0]["replacements"];
    assert!(text.to_string().contains("WavePrefixSum"), "{text}");
    *text = Value::Null;
    assert_data_eq!(
        serde_json::to_string_pretty(&log).unwrap(),
        str![[r#"
{
  "$schema": "https://json.schemastore.org/sarif-2.1.0.json",
  "runs": [
    {
      "columnKind": "unicodeCodePoints",
      "invocations": [
        {
          "executionSuccessful": true,
          "toolExecutionNotifications": []
        }
      ],
      "results": [
        {
          "level": "error",
          "locations": [
            {
              "message": {
                "text": "thread 0 reads g_Sum[1]"
              },
              "physicalLocation": {
                "artifactLocation": {
                  "uri": "src/allowed.hlsl"
                },
                "region": {
                  "endColumn": 38,
                  "endLine": 6,
                  "startColumn": 18,
                  "startLine": 6
                }
              }
            }
          ],
          "message": {
            "text": "data race on g_Sum[1]/nthread 0 reads g_Sum[1] while thread 1 writes it, with no barrier between them/nother pairs of accesses also race here/nthreads of a wave need not run in lock-step"
          },
          "partialFingerprints": {
            "shaderlint/v1": "8698e13598ba8a211"
          },
          "properties": {
            "verdict": "racy"
          },
          "relatedLocations": [
            {
              "id": 1,
              "message": {
                "text": "thread 1 writes it here"
              },
              "physicalLocation": {
                "artifactLocation": {
                  "uri": "src/allowed.hlsl"
                },
                "region": {
                  "endColumn": 14,
                  "endLine": 5,
                  "startColumn": 5,
                  "startLine": 5
                }
              }
            },
            {
              "id": 2,
              "message": {
                "text": "shared by the whole group"
              },
              "physicalLocation": {
                "artifactLocation": {
                  "uri": "src/allowed.hlsl"
                },
                "region": {
                  "endColumn": 28,
                  "endLine": 1,
                  "startColumn": 1,
                  "startLine": 1
                }
              }
            }
          ],
          "ruleId": "groupshared-race",
          "ruleIndex": 8,
          "suppressions": [
            {
              "justification": "one wave, /"measured/"",
              "kind": "inSource",
              "location": {
                "physicalLocation": {
                  "artifactLocation": {
                    "uri": "src/allowed.hlsl"
                  },
                  "region": {
                    "endColumn": 77,
                    "endLine": 6,
                    "startColumn": 61,
                    "startLine": 6
                  }
                }
              }
            }
          ]
        },
        {
          "fixes": [
            {
              "artifactChanges": [
                {
                  "artifactLocation": {
                    "uri": "src/ladder.hlsl"
                  },
                  "replacements": null
                }
              ],
              "description": {
                "text": "replace the ladder with wave intrinsics"
              }
            }
          ],
          "level": "warning",
          "locations": [
            {
              "message": {
                "text": "6 rounds, 12 barriers"
              },
              "physicalLocation": {
                "artifactLocation": {
                  "uri": "src/ladder.hlsl"
                },
                "region": {
                  "endColumn": 3,
                  "endLine": 15,
                  "startColumn": 2,
                  "startLine": 9
                }
              }
            }
          ],
          "message": {
            "text": "Hillis–Steele inclusive scan of 64 uints/nproved: g_Scan[i] ends as the sum of g_Scan[0] … g_Scan[i] for all i < 64, race-free/nthe wave form passes one barrier; it needs shader model 6.0 and waves that hold consecutive threads (all known implementations pack 1-D groups this way)/nthe fix is proved: the kernel writes the same values at wave sizes 4 to 128 (lane map: linear)"
          },
          "partialFingerprints": {
            "shaderlint/v1": "b5fc62b544fea7c21"
          },
          "properties": {
            "fixSafety": "safe",
            "shape": "doubling",
            "verdict": "proved"
          },
          "relatedLocations": [
            {
              "id": 1,
              "message": {
                "text": "the elements pass through this array"
              },
              "physicalLocation": {
                "artifactLocation": {
                  "uri": "src/ladder.hlsl"
                },
                "region": {
                  "endColumn": 29,
                  "endLine": 3,
                  "startColumn": 1,
                  "startLine": 3
                }
              }
            },
            {
              "id": 2,
              "message": {
                "text": "every thread waits for the slowest"
              },
              "physicalLocation": {
                "artifactLocation": {
                  "uri": "src/ladder.hlsl"
                },
                "region": {
                  "endColumn": 36,
                  "endLine": 12,
                  "startColumn": 3,
                  "startLine": 12
                }
              }
            },
            {
              "id": 3,
              "physicalLocation": {
                "artifactLocation": {
                  "uri": "src/ladder.hlsl"
                },
                "region": {
                  "endColumn": 36,
                  "endLine": 14,
                  "startColumn": 3,
                  "startLine": 14
                }
              }
            }
          ],
          "ruleId": "hillis-steele-scan",
          "ruleIndex": 0
        },
        {
          "fixes": [
            {
              "artifactChanges": [
                {
                  "artifactLocation": {
                    "uri": "src/race.hlsl"
                  },
                  "replacements": [
                    {
                      "deletedRegion": {
                        "endColumn": 39,
                        "endLine": 6,
                        "startColumn": 5,
                        "startLine": 6
                      },
                      "insertedContent": {
                        "text": "GroupMemoryBarrierWithGroupSync();/n    {/n        uint value = g_Sum[gi] + g_Sum[(gi + 1) % 64];/n        GroupMemoryBarrierWithGroupSync();/n        g_Sum[gi] = value;/n    }"
                      }
                    }
                  ]
                }
              ],
              "description": {
                "text": "put the missing barriers before this statement and between the reads and the write"
              }
            }
          ],
          "level": "error",
          "locations": [
            {
              "message": {
                "text": "thread 0 reads g_Sum[1]"
              },
              "physicalLocation": {
                "artifactLocation": {
                  "uri": "src/race.hlsl"
                },
                "region": {
                  "endColumn": 38,
                  "endLine": 6,
                  "startColumn": 18,
                  "startLine": 6
                }
              }
            }
          ],
          "message": {
            "text": "data race on g_Sum[1]/nthread 0 reads g_Sum[1] while thread 1 writes it, with no barrier between them/nother pairs of accesses also race here/nthreads of a wave need not run in lock-step/nthe fix is proved: with these barriers, no two threads of the group race on groupshared memory"
          },
          "partialFingerprints": {
            "shaderlint/v1": "f4ea78c1af8bebba1"
          },
          "properties": {
            "fixSafety": "unsafe",
            "verdict": "racy"
          },
          "relatedLocations": [
            {
              "id": 1,
              "message": {
                "text": "thread 1 writes it here"
              },
              "physicalLocation": {
                "artifactLocation": {
                  "uri": "src/race.hlsl"
                },
                "region": {
                  "endColumn": 14,
                  "endLine": 5,
                  "startColumn": 5,
                  "startLine": 5
                }
              }
            },
            {
              "id": 2,
              "message": {
                "text": "shared by the whole group"
              },
              "physicalLocation": {
                "artifactLocation": {
                  "uri": "src/race.hlsl"
                },
                "region": {
                  "endColumn": 28,
                  "endLine": 1,
                  "startColumn": 1,
                  "startLine": 1
                }
              }
            }
          ],
          "ruleId": "groupshared-race",
          "ruleIndex": 8
        }
      ],
      "tool": {
        "driver": {
          "informationUri": "https://github.com/shaderlint/shaderlint",
          "name": "shaderlint",
          "rules": null,
          "semanticVersion": "0.1.0"
        }
      }
    }
  ],
  "version": "2.1.0"
}
"#]]
    );
}

import AttoConformance
import TestSupport
import Testing

@testable import AttoTestCommands

@Suite(.oneByOne) struct JUnitTests {
  @Test func document() {
    let finding = Finding(
      "a < b", section: "Vol 3", "\"c\" & d", expected: "0b", got: [0x01, 0x02])
    let reports = [
      CaseReport(name: "x/a", title: "", outcome: .passed, duration: .milliseconds(1234)),
      CaseReport(
        name: "x/b", title: "", outcome: .broken(finding),
        exchange: [ExchangedPDU(isFromPeer: false, [0x0A, 3, 0])]),
      CaseReport(name: "c", title: "", outcome: .skipped("why")),
    ]
    #expect(
      JUnit.document(reports, suite: "s") == """
        <?xml version="1.0" encoding="UTF-8"?>
        <testsuite name="s" tests="3" failures="1" skipped="1">
          <testcase classname="x" name="x/a" time="1.234"/>
          <testcase classname="x" name="x/b" time="0.000">
            <failure message="&quot;c&quot; &amp; d">&quot;c&quot; &amp; d&#10;rule: a &lt; b (Vol 3)&#10;expected: 0b&#10;got:      01 02&#10;&gt; 0a 03 00  Read Request 0x0003</failure>
          </testcase>
          <testcase classname="" name="c" time="0.000">
            <skipped message="why"/>
          </testcase>
        </testsuite>

        """)
  }
}

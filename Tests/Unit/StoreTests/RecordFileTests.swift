import TestSupport
import Testing

@testable import AttoStore

/// Records of applications in a store.
@Suite(.oneByOne) struct RecordFileTests {
  let folder = TemporaryFolder(isInMemory: true)

  @Test func recordsAreSavedReplacedAndRemoved() throws {
    let file = try RecordFile(path: folder.file())
    #expect(try file.record("state", "a") == nil)
    try file.save([.init("state", "a", nil)], limit: 2)
    try file.save([.init("state", "a", [1, 2]), .init("other", "a", [3])], limit: 2)
    #expect(try RecordFile(path: folder.file()).record("state", "a") == [1, 2])
    try file.save([.init("state", "a", [])], limit: 2)
    #expect(try file.record("state", "a") == [])
    try file.save([.init("state", "a", nil)], limit: 2)
    #expect(try file.record("state", "a") == nil)
    #expect(try file.record("other", "a") == [3])
  }

  @Test func theRecordThatWasSavedLongestAgoMakesRoom() throws {
    let file = try RecordFile(path: folder.file())
    for name in ["a", "b", "a", "c"] { try file.save([.init("state", name, [1])], limit: 2) }
    try file.save([.init("other", "b", [1])], limit: 2)
    #expect(try file.record("state", "a") == [1])
    #expect(try file.record("state", "b") == nil)
    #expect(try file.record("state", "c") == [1])
    #expect(try file.record("other", "b") == [1])
  }
}

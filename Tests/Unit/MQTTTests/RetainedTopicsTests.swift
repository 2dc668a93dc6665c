import TestSupport
import Testing

@testable import AttoMQTT

@Suite(.oneByOne) struct RetainedTopicsTests {
  @Test func the_file_has_them() throws {
    let folder = TemporaryFolder()
    func use(_ body: (QueueFile) throws -> Void) throws -> Set<String> {
      let content = try QueueFile(path: folder.file("queue.sqlite")).content()
      try body(content.file)
      return content.retained
    }
    #expect(try use { try $0.changeRetained(["a", "b", "\u{E9}/+"], []) } == [])
    #expect(try use { try $0.changeRetained(["c", "a"], ["b", "x"]) } == ["a", "b", "\u{E9}/+"])
    #expect(try use { _ in } == ["a", "c", "\u{E9}/+"])
  }

  @Test func a_topic_stays_until_its_removal_is_acknowledged() {
    let topics = RetainedTopics(on: .shared)
    for topic in ["a", "b", "c"] { topics.add(topic) }
    for topic in ["a", "b", "x"] { topics.remove(topic) }
    #expect(topics.topics == ["a", "b", "c"])
    // Used again.
    topics.add("b")
    topics.acknowledged()
    #expect(topics.topics == ["b", "c"])
  }

  @Test func there_is_a_limit() {
    let topics = RetainedTopics(on: .shared)
    for number in 0...RetainedTopics.limit { topics.add("\(number)") }
    #expect(topics.topics.count == RetainedTopics.limit)
  }
}

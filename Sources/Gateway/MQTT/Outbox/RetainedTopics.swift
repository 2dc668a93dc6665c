import AttoEventLoop
import AttoGateway
import AttoStore

/// The topics that have a retained message of this gateway's, also of its former runs, so that the gateway can
/// remove the messages of devices and names that it no longer has. Used on the loop's thread.
///
/// A topic is in the file soon after its first message, and until the broker has acknowledged that the message is
/// removed. Without a file, topics are known until the process ends.
final class RetainedTopics {
  /// Topics that are known. The messages of others are not removed.
  static let limit = 32_768

  private let loop: Loop
  private var file: QueueFile?
  private(set) var topics: Set<String> = []
  /// Removed topics whose removal the broker has not acknowledged.
  private var leaving: Set<String> = []
  private var added: Set<String> = []
  private var removed: Set<String> = []
  private var isWriting = false

  init(on loop: Loop) { self.loop = loop }

  /// Keeps topics in a file from now on, which has these.
  func keep(in file: QueueFile, _ stored: Set<String>) {
    self.file = file
    added = topics.subtracting(stored)
    topics.formUnion(stored.prefix(max(0, Self.limit - topics.count)))
    write()
  }

  /// A retained message was published.
  func add(_ topic: String) {
    leaving.remove(topic)
    guard !topics.contains(topic), topics.count < Self.limit else { return }
    topics.insert(topic)
    removed.remove(topic)
    added.insert(topic)
    write()
  }

  /// The removal of a retained message was published.
  func remove(_ topic: String) {
    if topics.contains(topic) { leaving.insert(topic) }
  }

  /// The broker has acknowledged everything that was published.
  func acknowledged() {
    guard !leaving.isEmpty else { return }
    topics.subtract(leaving)
    added.subtract(leaving)
    removed.formUnion(leaving)
    leaving = []
    write()
  }

  /// Writes what has changed, one call at a time. After a failure, with the next change.
  private func write() {
    guard let file, !isWriting, !(added.isEmpty && removed.isEmpty) else { return }
    let (new, old) = (added, removed)
    (added, removed) = ([], [])
    isWriting = true
    let topics = LoopBound(self, loop)
    Blocking.run(on: loop) { () -> Bool in
      (try? file.changeRetained(new, old)) != nil
    } done: { isDone in
      topics.value.wrote(isDone ?? false, new, old)
    }
  }

  private func wrote(_ isDone: Bool, _ new: Set<String>, _ old: Set<String>) {
    isWriting = false
    guard !isDone else { return write() }
    added.formUnion(new.intersection(topics))
    removed.formUnion(old.subtracting(topics))
  }
}

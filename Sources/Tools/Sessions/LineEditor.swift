import Atto
import AttoCommandLine
import CAttoLinux
import CLineEditor
import Glibc

/// The line editor of the terminal, on a thread of its own.
///
/// The prompt is on the terminal all the time. Lines that are printed meanwhile replace it, and it is
/// shown again below them.
enum LineEditor {
  /// What a line may be completed to; nil for the name of a file.
  typealias Completion = @Sendable (_ words: [String]) -> [String]?

  private static let stack = 512 << 10

  /// Starts the editor; nil without a library or a thread.
  ///
  /// - Parameters:
  ///   - history: the file that keeps the history; nil for none.
  ///   - whenEntered: called on the editor's thread for each line, before the prompt is shown again.
  ///   - completion: called on the editor's thread with the words up to the cursor.
  /// - Returns: the lines, up to the end of the input or ``end()``.
  static func start(
    prompt: String, history: String?, whenEntered: @escaping @Sendable () -> Void,
    completion: @escaping Completion
  ) -> AsyncStream<String>? {
    guard clineeditor_load() == 0 else { return nil }
    let (lines, continuation) = AsyncStream<String>.makeStream()
    let reader = Reader(prompt, history, continuation, whenEntered, completion)
    let context = Unmanaged.passRetained(reader)
    let result = clinux_thread_start(
      { context in
        clinux_thread_name("editor")
        Unmanaged<Reader>.fromOpaque(context!).takeUnretainedValue().run()
        return nil
      }, context.toOpaque(), stack)
    guard result == 0 else {
      context.release()
      return nil
    }
    Terminal.showPrompt(OutputQueue.Prompt(hide: erasing, show: { clineeditor_show() }))
    return lines
  }

  /// Hides prompt and line. Returns what erases them.
  private static func erasing() -> [UInt8] {
    var text = [CChar](repeating: 0, count: 32)
    let count = clineeditor_hide(&text, text.count)
    return text.prefix(Int(count)).map { UInt8(bitPattern: $0) }
  }

  /// Discards the line that is being typed.
  static func discard() { clineeditor_discard() }

  /// Ends the editor. Returns false if it does not run.
  static func end() -> Bool {
    guard Terminal.showPrompt(nil) else { return false }
    clineeditor_end()
    return true
  }
}

/// The callbacks of the editor. It exists until the process ends.
private final class Reader: Sendable {
  private let prompt: String
  private let history: String?
  private let lines: AsyncStream<String>.Continuation
  private let whenEntered: @Sendable () -> Void
  private let completion: LineEditor.Completion

  init(
    _ prompt: String, _ history: String?, _ lines: AsyncStream<String>.Continuation,
    _ whenEntered: @escaping @Sendable () -> Void, _ completion: @escaping LineEditor.Completion
  ) {
    self.prompt = prompt
    self.history = history
    self.lines = lines
    self.whenEntered = whenEntered
    self.completion = completion
  }

  func run() {
    let callbacks = clineeditor_callbacks(
      context: Unmanaged.passUnretained(self).toOpaque(),
      entered: { context in
        Unmanaged<Reader>.fromOpaque(context!).takeUnretainedValue().whenEntered()
      },
      line: { context, line in
        let reader = Unmanaged<Reader>.fromOpaque(context!).takeUnretainedValue()
        guard let line else { return reader.lines.finish() }
        reader.lines.yield(String(cString: line))
      },
      completions: { context, line, start, end in
        let reader = Unmanaged<Reader>.fromOpaque(context!).takeUnretainedValue()
        return reader.completions(of: Array(String(cString: line!).utf8), Int(start), Int(end))
      })
    // SAFETY: both texts outlive the call, which returns when the editor ends.
    prompt.withCString { prompt in
      guard let history else { return clineeditor_run(prompt, nil, callbacks) }
      history.withCString { clineeditor_run(prompt, $0, callbacks) }
    }
  }

  /// - Returns: lines in memory from malloc, which the editor frees.
  private func completions(
    of line: [UInt8], _ start: Int, _ end: Int
  ) -> UnsafeMutablePointer<CChar>? {
    guard 0...line.count ~= end, 0...end ~= start else { return strdup("") }
    let before = String(decoding: line[..<start], as: UTF8.self).split(separator: " ")
    let current = String(decoding: line[start..<end], as: UTF8.self)
    let found = completion(before.map(String.init) + [current])
    return found.flatMap { strdup($0.map { $0 + "\n" }.joined()) }
  }
}

internal import Atto
import AttoGATT
import Foundation

/// A central's request that waits for the app's answer. If the app releases it without an answer, the
/// answer is Unlikely Error, so that the central does not wait for its timeout.
final class PendingRequest: Sendable {
  private let question: Question
  private let server: LocalServer
  private let isOpen: Locked<Bool>

  init(_ question: Question, _ server: LocalServer) {
    self.question = question
    self.server = server
    isOpen = Locked(question.kind != .writeCommand)
  }

  deinit {
    if isOpen.value { send(.refused(.unlikelyError)) }
  }

  /// Answers the request. Returns false if it was answered before.
  func answer(_ result: CBATTError.Code, value: Data?) -> Bool {
    let wasOpen = isOpen.withLock { isOpen in
      defer { isOpen = false }
      return isOpen
    }
    // The central expects no response to a command.
    guard wasOpen else { return question.kind == .writeCommand }
    if result != .success {
      send(.refused(UInt8(exactly: result.rawValue).map { ErrorCode($0) } ?? .unlikelyError))
    } else if question.kind == .read {
      send(.part(Array(value ?? Data())))
    } else {
      send(.accepted)
    }
    return true
  }

  private func send(_ answer: LateAnswer) {
    RadioLoop.later { [server, question] in server.answer(question, answer) }
  }
}

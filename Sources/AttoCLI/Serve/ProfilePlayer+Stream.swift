import Atto
import Files
import Synchronization

extension ProfilePlayer {
  /// Sends numbered values until the client has had enough, by subscribing anew or to nothing.
  func stream(
    _ value: BehavedValue, to client: ClientID, indicates: Bool, while goesOn: @Sendable () -> Bool
  ) async {
    var number: UInt32 = 0
    var size = -1
    var octets: [UInt8] = []
    while goesOn() {
      // The size may change, and others on this loop want their turn, too.
      for _ in 0..<Self.streamShare {
        let wanted = value.streamSize(for: client)
        if size != wanted {
          size = wanted
          octets = Profile.Burst.value(number, size: size)
        }
        for index in 0..<4 {
          octets[index] = UInt8(truncatingIfNeeded: number >> (8 * UInt32(index)))
        }
        let delivered =
          indicates
          ? try? await server.indicate(value.handle, octets, to: client)
          : try? await server.notify(value.handle, octets, to: client)
        guard let delivered, delivered.count > 0 else { return }
        number &+= 1
      }
      await Task.yield()
    }
  }

  /// Values of a stream in one go.
  private static let streamShare = 32
}

/// Which subscription of a client is the one in force, for each stream.
final class StreamsUnderWay: Sendable {
  private struct Key: Hashable {
    let handle: AttributeHandle
    let client: ClientID
  }

  private let state = Mutex<(last: Int, turns: [Key: Int])>((0, [:]))

  /// A new subscription, which ends the one before.
  func turn(of handle: AttributeHandle, to client: ClientID) -> Int {
    state.withLock { state in
      state.last += 1
      state.turns[Key(handle: handle, client: client)] = state.last
      return state.last
    }
  }

  func isCurrent(_ turn: Int, of handle: AttributeHandle, to client: ClientID) -> Bool {
    state.withLock { $0.turns[Key(handle: handle, client: client)] == turn }
  }

  /// A client has gone.
  func forget(_ client: ClientID) {
    state.withLock { state in state.turns = state.turns.filter { $0.key.client != client } }
  }
}

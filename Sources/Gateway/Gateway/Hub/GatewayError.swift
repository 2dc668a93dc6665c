import Atto
import AttoEventLoop

/// An error of the gateway, or of a device behind it.
package enum GatewayError: Error, Equatable, Sendable {
  /// The connection to the device failed, or the device refused a request.
  case device(AttoError)
  /// There is no link to the device now.
  case notConnected(device: String)
  /// No link was made in this time.
  case connectTimeout(device: String, after: Duration)
  /// All links that ``Configuration/Limits/connections`` allows are in use.
  case noFreeSlot(limit: Int)
  /// The gateway knows as many devices as ``Configuration/Limits/devices`` allows.
  case tooManyDevices(limit: Int)
  /// The user has as many requests under way as ``Device/requestLimit`` allows.
  case tooManyRequests(limit: Int)
  /// No device has this name.
  case unknownDevice(String)
  /// Requests may not name devices by their addresses.
  case addressNotAllowed(String)
  /// No device with this address is on the air.
  case notHeard(String)
  /// The device has no such characteristic, or the configuration no such name.
  case unknownCharacteristic(device: String, String)
  /// The configuration has no sequence of this name for the device.
  case unknownSequence(device: String, String)
  /// No device asks this question: it was answered, or its time is over.
  case unknownQuestion
  /// The question of a device has other answers.
  case unsuitableAnswer(expected: String)
  /// The step of a sequence, counted from 1, failed. The steps after it were not carried out.
  case sequence(step: Int, SequenceFault)
  /// An update of firmware is not carried out.
  case update(UpdateFault)
  /// An adapter cannot be used.
  case adapter(String, RadioError)
  /// The gateway was started less than this time ago, or cannot be restarted here.
  case notRestarted(within: Duration)
  /// The use was released, or the gateway ends.
  case released
  /// The caller's task was cancelled.
  case cancelled
}

/// Why a step of a sequence failed.
package enum SequenceFault: Error, Equatable, Sendable {
  /// The device refused it, or the link ended.
  case device(AttoError)
  /// There was no link.
  case notConnected
  /// The device has no such characteristic.
  case unknownCharacteristic(String)
  /// The expected value did not arrive in this time.
  case noValue(after: Duration)
  /// The sequence had taken this time before the step.
  case tooLong(limit: Duration)
}

extension GatewayError: WaitError {
  /// The error of a call to a device.
  package init(_ error: AttoError) { self = error.isCancellation ? .cancelled : .device(error) }
}

extension GatewayError: CustomStringConvertible {
  package var description: String {
    switch self {
    case .device(let error): "\(error)"
    case .notConnected(let device): "\(device) is not connected"
    case .connectTimeout(let device, let time): "connecting to \(device) timed out after \(time)"
    case .noFreeSlot(let limit): "no free connection: the limit is \(limit)"
    case .tooManyDevices(let limit): "too many devices: the limit is \(limit)"
    case .tooManyRequests(let limit): "too many requests under way: the limit is \(limit)"
    case .unknownDevice(let name): "no device \"\(name)\" is configured"
    case .addressNotAllowed(let address):
      "no device \"\(address)\" is configured (\"connectAny\": true allows addresses)"
    case .notHeard(let address): "\(address) is not heard"
    case .unknownCharacteristic(let device, let name):
      "\(device) has no characteristic \(name)"
        + (name.hasPrefix("0x") ? ", a handle (write \"\(name.dropFirst(2))\" for the UUID)" : "")
    case .unknownSequence(let device, let name): "\(device) has no sequence \"\(name)\""
    case .unknownQuestion: "no device asks this question: it was answered, or its time is over"
    case .unsuitableAnswer(let expected): "unsuitable answer: expected \(expected)"
    case .sequence(let step, let fault): "step \(step): \(fault)"
    case .update(let fault): "\(fault)"
    case .adapter(let name, let error): "adapter \(name): \(error)"
    case .notRestarted(let time):
      "the gateway can be restarted by a request only once it has run for \(time)"
    case .released: "the device was released"
    case .cancelled: "cancelled"
    }
  }
}

extension SequenceFault: CustomStringConvertible {
  package var description: String {
    switch self {
    case .device(let error): "\(error)"
    case .notConnected: "the device is not connected"
    case .unknownCharacteristic(let name): "the device has no characteristic \(name)"
    case .noValue(let time): "the expected value did not arrive within \(time)"
    case .tooLong(let time): "the sequence takes longer than \(time)"
    }
  }
}

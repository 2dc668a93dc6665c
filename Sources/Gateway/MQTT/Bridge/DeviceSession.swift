import Atto
import AttoATT
import AttoEventLoop
import AttoGATT
import AttoGateway

/// The broker's use of one configured device. The loop's thread only.
final class DeviceSession {
  /// What follows the device and its reads; ended with the session.
  var tasks: [Task<Void, Never>] = []
  /// Configures the present link.
  var setup: Task<Void, Never>?
  let device: Device
  let name: String
  let configuration: DeviceConfiguration
  /// Whether a request has named the device by its address. The session ends with its use.
  let isPassing: Bool
  /// Nil while another gateway of the fleet holds the device, and for a device on demand while nobody
  /// asks for it.
  var use: DeviceUse?
  /// The topics of values, by the handles of the present database.
  var topics: [AttributeHandle: ValueTopic] = [:]
  /// The controls by the handles of their states, of the present database.
  var controls: [AttributeHandle: [ControlConfiguration]] = [:]
  /// The last retained value of each topic, and whether it has waited for a broker since.
  var last: [String: (value: KeptValue, isWaiting: Bool)] = [:]
  var about = HomeAssistant.About()
  /// What was announced to Home Assistant, by topic.
  var announced: [String: Outgoing] = [:]
  /// Ends the use of a device on demand.
  var timer: LoopTimer?
  var isConnected = false
  var mtu = 0
  /// What went wrong last with the device.
  var problem: String?

  init(_ device: Device, _ configuration: DeviceConfiguration, isPassing: Bool = false) {
    self.device = device
    self.isPassing = isPassing
    self.configuration = configuration
    name = configuration.name
  }

  func end() {
    for task in tasks { task.cancel() }
    setup?.cancel()
    timer?.cancel()
    use?.release()
    (tasks, setup, timer, use) = ([], nil, nil, nil)
  }

  /// The name of a characteristic in topics: the configured one, the UUID, or the UUID and the handle if
  /// the device has it twice.
  func name(of characteristic: Characteristic, in database: RemoteDatabase) -> String {
    let named = configuration.characteristics.first { named in
      guard named.uuid == characteristic.uuid else { return false }
      guard let service = named.service else { return true }
      return database.services.contains {
        $0.uuid == service
          && $0.characteristics.contains { $0.valueHandle == characteristic.valueHandle }
      }
    }
    if let named { return named.name }
    let uuid = characteristic.uuid.description.lowercased()
    let twins = database.services.flatMap(\.characteristics).count {
      $0.uuid == characteristic.uuid
    }
    return twins > 1 ? "\(uuid)-\(Self.text(characteristic.valueHandle))" : uuid
  }

  /// Whether the values of a characteristic are decoded.
  func decodes(_ characteristic: Characteristic) -> Bool {
    configuration.characteristics.first { $0.uuid == characteristic.uuid }?.decodes ?? true
  }

  /// Whether the broker keeps the last value of a characteristic; nil: that is not configured.
  func retains(_ characteristic: Characteristic) -> Bool? {
    configuration.characteristics.first { $0.uuid == characteristic.uuid }?.isRetained
  }

  private static func text(_ handle: AttributeHandle) -> String {
    "0x" + Hex.digits(handle.rawValue)
  }
}

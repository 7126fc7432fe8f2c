# frozen_string_literal: true

# A provider for Debian's Vagrant whose machines are hosts of the lab: everything but the making of machines is Vagrant's own.
#
# LAB_MACHINES names a file with JSON: {"worker-1": {"host": "10.20.0.12", "port": 22}}. A machine of it is there before `vagrant up`, as a box is;
# it has the user and the public key that boxes have. The test's Vagrantfile in VAGRANT_HOME loads this.

require 'json'

module KokLab
  def self.machines
    JSON.parse(File.read(ENV.fetch('LAB_MACHINES')))
  end

  class Plugin < Vagrant.plugin('2')
    name 'lab'

    provider('lab', box_optional: true, parallel: false) { Provider }
  end

  class Provider < Vagrant.plugin('2', :provider)
    def initialize(machine)
      super
      @machine = machine
    end

    def action(name)
      Actions.public_method_defined?(name) ? Actions.new.public_send(name) : nil
    end

    # Like VirtualBox: a machine that does not run is not reached.
    def ssh_info
      return nil unless state.id == :running

      own = KokLab.machines.fetch(@machine.name.to_s)
      { host: own['host'], port: own['port'] }
    end

    def state
      id = @machine.id ? @machine.data_dir.join('lab-state').read.to_sym : :not_created
      Vagrant::MachineState.new(id, id.to_s, id.to_s)
    end
  end

  # What a machine's state is from now on.
  class Become
    def initialize(app, _env, state)
      @app = app
      @state = state
    end

    def call(env)
      machine = env[:machine]
      machine.id ||= "lab-#{machine.name}"
      machine.data_dir.join('lab-state').write(@state)
      @app.call(env)
    end
  end

  # The address in the network of the machines, as the Vagrantfile asks for it. It is the host's second one, as beside VirtualBox' NAT.
  class Network
    def initialize(app, _env)
      @app = app
    end

    def call(env)
      env[:machine].config.vm.networks.each do |kind, options|
        next unless kind == :private_network

        env[:machine].communicate.sudo("ip address replace #{options.fetch(:ip)}/24 dev host0")
      end
      @app.call(env)
    end
  end

  # The machine is gone, with all that is kept of it.
  class Destroy
    def initialize(app, _env)
      @app = app
    end

    def call(env)
      env[:machine].id = nil
      @app.call(env)
    end
  end

  class Actions
    include Vagrant::Action::Builtin

    def up
      build do |steps|
        steps.use ConfigValidate
        steps.use Provision
        steps.use Become, 'running'
        steps.use WaitForCommunicator, [:running]
        steps.use Network
      end
    end

    def provision
      build { |steps| steps.use Provision }
    end

    def halt
      build { |steps| steps.use Become, 'poweroff' }
    end

    def destroy
      build { |steps| steps.use Destroy }
    end

    def ssh_run
      build { |steps| steps.use SSHRun }
    end

    private

    def build(&block)
      Vagrant::Action::Builder.new.tap(&block)
    end
  end
end
